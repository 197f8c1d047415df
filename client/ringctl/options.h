#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/ringctl/placement.h"
#include "client/ringctl/security.h"
#include "ringd/v1/directory.pb.h"

namespace ringd::ctl {

enum class Format { kTable, kJson, kYaml, kTsv };

// GlobalOptions are the flags that every command takes.
struct GlobalOptions {
  std::vector<std::string> endpoints;
  Security security;
  std::chrono::milliseconds timeout{5000};
  Format format = Format::kTable;
  bool no_headers = false;
  bool quiet = false;  // no text about success, no notices; errors and data stay
};

// MutationFlags are what commands that change something take.
struct MutationFlags {
  bool yes = false;  // do not ask; does not stand for `force`
  bool dry_run = false;
  bool force = false;
  std::string reason;
  std::optional<v1::Version> if_version;
  std::optional<double> wait_for;                         // share of the watchers; absent = the answer does not wait
  std::optional<std::chrono::milliseconds> wait_timeout;  // absent = 5 s
};

struct RingCreateOptions {
  std::string ring;
  PlacementOptions placement;
  std::optional<uint32_t> default_weight;
  std::map<std::string, std::string> labels;
  MutationFlags mutation;
};

struct RingImportOptions {
  RingCreateOptions ring;  // what the command line says of it; a file may say more
  std::string file;        // "-" = standard input
  std::string format;      // one of ImportFormatNames(); empty = told by the file
  std::string pool;        // of a nutcracker.yml; empty = it has one
  std::string upstream;    // of a configuration of nginx; empty = it has one
};

// RingUpdateOptions are the settings that the command line named.
struct RingUpdateOptions {
  std::string ring;
  std::optional<uint32_t> default_weight;
  std::optional<std::map<std::string, std::string>> labels;
  std::optional<uint32_t> history_max;
  std::optional<std::chrono::milliseconds> history_age;
  MutationFlags mutation;
};

struct RingRestoreOptions {
  std::string ring;
  std::optional<v1::Version> to;  // REQUIRED by the command
  MutationFlags mutation;
};

struct HistoryOptions {
  std::string ring;
  std::optional<uint32_t> limit;  // absent = all that is kept
};

// NodeFields are the fields of a node that the command line named.
struct NodeFields {
  std::optional<std::string> address;
  std::optional<uint32_t> weight;
  std::optional<std::string> zone;
  std::optional<std::string> hash_key;
  std::optional<std::map<std::string, std::string>> metadata;
  std::optional<std::string> points_file;  // "-" = standard input
};

struct NodeOptions {
  std::string ring;
  std::string node;
  NodeFields fields;
  MutationFlags mutation;
};

struct ApplyOptions {
  std::string ring;
  std::string file;  // "-" = standard input
  MutationFlags mutation;
};

struct DiffOptions {
  std::string ring;
  std::string file;  // "-" = standard input
};

// ComparedVersions are two versions of a ring, and what moved from one to the other is asked for.
struct ComparedVersions {
  std::string ring;
  std::optional<v1::Version> from;  // REQUIRED by the commands
  std::optional<v1::Version> to;    // absent = the ring as it is
};

struct MovedOptions {
  ComparedVersions versions;
  std::string file;             // of keys; "-" = standard input
  bool null_separated = false;  // NUL ends a key instead of a newline
};

struct ExplainOptions {
  std::string ring;
  std::string key;
  std::optional<uint32_t> owners;  // absent = 3
};

// SimulateOptions have either nodes or a zone.
struct SimulateOptions {
  std::string ring;
  std::vector<std::string> nodes;
  std::string zone;
};

struct LookupOptions {
  std::string ring;
  std::vector<std::string> keys;  // exactly "-" = keys come from stdin
  bool positions = false;         // the keys are positions on the circle; none is "-"
  bool null_separated = false;    // on stdin, NUL ends a key instead of a newline
  std::optional<uint32_t> owners;
  std::optional<v1::Version> min_version;
};

struct VerifyOptions {
  std::string ring;
  std::string file;  // "-" = standard input
};

struct WatchOptions {
  std::string ring;
  std::optional<v1::Version> from;
  std::string name;  // empty = none, and nothing is reported
};

}  // namespace ringd::ctl
