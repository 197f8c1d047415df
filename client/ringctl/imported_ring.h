#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ringd/v1/directory.pb.h"

namespace ringd::ctl {

// ImportedRing is a ring as a file has it that another program reads, or an export of ours.
struct ImportedRing {
  std::string origin;                 // which one of the file it is, for people; such as `pool "alpha"`
  v1::CreateRingRequest settings;     // what the file says of the ring; name and options are not filled in
  std::vector<v1::Node> nodes;        // in the order in which they join; their output-only fields are absent
  std::vector<v1::SlotRange> ranges;  // of a Redis Cluster, as it tells them itself
  std::vector<uint32_t> slot_owners;  // of an export, as ImportSlotsRequest has them; empty without nodes or slots
  std::vector<std::string> warnings;  // what was not taken over, or not as it stands; each begins with FILE:LINE
};

// TextAt is a text about a place: "FILE:LINE: text".
std::string TextAt(const std::string& file, int line, const std::string& text);

// WrongLine says what is wrong with a line of a file, as INVALID_ARGUMENT.
absl::Status WrongLine(const std::string& file, int line, const std::string& text);

// NodeLines gathers the nodes of a file that has a line a node.
class NodeLines {
 public:
  explicit NodeLines(std::string file) : file_(std::move(file)) {}

  // INVALID_ARGUMENT, with file and line, for an id or a hash_key that came before. An empty hash_key is the id.
  absl::Status Add(int line, v1::Node node);

  bool empty() const { return nodes_.empty(); }
  std::vector<v1::Node> Take() { return std::exchange(nodes_, {}); }

 private:
  const std::string file_;
  std::vector<v1::Node> nodes_;
  std::map<std::string, int> id_lines_;
  std::map<std::string, int> hash_key_lines_;
};

}  // namespace ringd::ctl
