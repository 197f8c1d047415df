// Options of the daemon. Flags, environment and configuration file say the same things: a setting is a flag, --NAME; in
// the environment it is RINGD_NAME, in upper case and with underscores; in the file it is the key NAME. A flag goes
// before the environment, the environment before the file. Lists have commas between their elements, or are YAML lists.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "ring/ring.h"
#include "server/certificates.h"
#include "server/log_format.h"
#include "server/request_checks.h"

namespace ringd::server {

struct Options {
  bool has_certificates() const { return !certificates.certificate.empty(); }

  std::vector<std::string> listen = {"127.0.0.1:7440"};
  std::vector<std::string> allow_plaintext;
  std::string http_listen = "127.0.0.1:7441";
  std::string metrics_listen;
  std::string data_dir;
  bool init = false;

  // All names are empty, or none is.
  CertificateFiles certificates;
  std::vector<std::string> admin_sans;

  RequestLimits request_limits;
  ring::Limits ring_limits;
  size_t max_rings = 10'000;
  int max_request_bytes = 1 << 20;
  size_t max_watches_per_connection = 100;
  size_t max_watches = 20'000;
  size_t metrics_max_nodes = 100;
  size_t metrics_max_series = 10'000;

  std::string log_level = "info";  // debug, info, warning or error
  LogFormat log_format = LogFormat::kText;

  absl::Duration history_age = absl::Hours(24 * 30);
  uint32_t history_max = 100'000;
  std::chrono::milliseconds heartbeat_interval{10'000};
  std::chrono::milliseconds max_connection_age{3'600'000};
  // How long a drain waits for clients.
  std::chrono::milliseconds drain_timeout{5'000};
};

// Where settings come from.
struct SettingSources {
  std::vector<std::string> arguments;    // of the command line, without the program's name
  std::vector<std::string> environment;  // NAME=VALUE
};

// What main shall do.
struct ParsedOptions {
  Options options;
  bool check_only = false;            // --check-config
  std::string text;                   // help or version to print, and nothing else to do; else empty
  std::vector<std::string> errors;    // what is wrong, a line each; the options mean nothing when there are any
  std::vector<std::string> warnings;  // what may be a mistake
};

// Reads the configuration file, if one is named; prints nothing. Not from two threads at once.
ParsedOptions ParseOptions(const SettingSources& sources);

}  // namespace ringd::server
