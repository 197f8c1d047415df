#include "client/ringctl/redis_cluster_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <sstream>
#include <vector>

#include "client/ringctl/escape.h"

namespace ringd::ctl {
namespace {

constexpr size_t kIdBytes = 40;
constexpr uint32_t kSlots = 16'384;

std::optional<uint32_t> NumberOf(std::string_view text) {
  uint32_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

// Gathers nodes and ranges, each node once.
class ClusterBuilder {
 public:
  ClusterBuilder() {
    ring_.origin = "a Redis Cluster";
    ring_.settings.mutable_placement()->mutable_preset()->set_preset(v1::PRESET_REDIS_CLUSTER);
  }

  void AddNode(const std::string& id, const std::string& address, bool is_master) {
    const auto [it, added] = numbers_.try_emplace(id, ring_.nodes.size());
    if (added) {
      v1::Node& node = ring_.nodes.emplace_back();
      node.set_id(id);
      node.set_address(address);
      node.set_weight(0);
    }
    // Its weight is the default's.
    if (is_master) ring_.nodes[it->second].clear_weight();
  }
  void AddRange(uint32_t first, uint32_t last) {
    ring_.ranges.emplace_back();
    ring_.ranges.back().set_first(first);
    ring_.ranges.back().set_last(last);
  }
  void AddOwner(const std::string& id) { ring_.ranges.back().add_node_ids(id); }
  bool HasRanges() const { return !ring_.ranges.empty(); }

  // INVALID_ARGUMENT for slots that are missing, told twice, or beyond the last.
  absl::StatusOr<ImportedRing> Take(const std::string& file) {
    std::sort(ring_.ranges.begin(), ring_.ranges.end(),
              [](const v1::SlotRange& a, const v1::SlotRange& b) { return a.first() < b.first(); });
    uint32_t next = 0;
    for (const v1::SlotRange& range : ring_.ranges) {
      if (range.first() != next || range.last() < range.first() || range.last() >= kSlots) break;
      next = range.last() + 1;
    }
    if (next == kSlots) return std::move(ring_);
    return absl::InvalidArgumentError(
        fmt::format("{}: a directory takes each of {} slots once; slot {} is missing, or those after it are wrong",
                    file, kSlots, next));
  }

 private:
  ImportedRing ring_;
  std::map<std::string, size_t> numbers_;
};

// --- CLUSTER NODES: <id> <ip:port@cport[,hostname]> <flags> <master> <ping> <pong> <epoch> <link> <slot>...

struct NodeLine {
  int line = 0;
  std::vector<std::string> words;

  const std::string& id() const { return words[0]; }
  std::string address() const { return words[1].substr(0, words[1].find('@')); }
  bool is_master() const { return words[3] == "-"; }
};

absl::StatusOr<std::vector<NodeLine>> ReadNodeLines(const std::string& file, const std::string& content) {
  constexpr size_t kWordsBeforeSlots = 8;
  std::vector<NodeLine> lines;
  std::istringstream stream(content);
  int number = 0;
  for (std::string text; std::getline(stream, text);) {
    NodeLine line{.line = ++number};
    std::istringstream words(text);
    for (std::string word; words >> word;) line.words.push_back(word);
    if (line.words.empty()) continue;
    if (line.words.size() < kWordsBeforeSlots) {
      return WrongLine(file, number,
                       fmt::format("a line of CLUSTER NODES has 8 words at least, this has {}", line.words.size()));
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

absl::StatusOr<ImportedRing> ParseNodes(const std::string& file, const std::string& content) {
  const absl::StatusOr<std::vector<NodeLine>> lines = ReadNodeLines(file, content);
  if (!lines.ok()) return lines.status();
  ClusterBuilder builder;
  for (const NodeLine& line : *lines) {
    const bool has_slots = line.words.size() > 8;
    if (line.is_master() && !has_slots) continue;  // one that was just added, or has failed: nobody's owner
    builder.AddNode(line.id(), line.address(), line.is_master());
  }
  for (const NodeLine& line : *lines) {
    for (size_t i = 8; i < line.words.size(); ++i) {
      const std::string& slots = line.words[i];
      if (slots.front() == '[') continue;  // on its way from here or to here
      const size_t dash = slots.find('-');
      const auto first = NumberOf(slots.substr(0, dash));
      const auto last = dash == std::string::npos ? first : NumberOf(slots.substr(dash + 1));
      if (!first || !last) return WrongLine(file, line.line, fmt::format("{} are no slots", Quoted(slots)));
      builder.AddRange(*first, *last);
      builder.AddOwner(line.id());
      for (const NodeLine& other : *lines) {
        if (other.words[3] == line.id()) builder.AddOwner(other.id());
      }
    }
  }
  if (!builder.HasRanges()) return WrongLine(file, 1, "no node has a slot");
  return builder.Take(file);
}

// --- CLUSTER SLOTS: for each range first, last, and for each owner host, port, id and pairs of further names

struct Value {
  int line = 0;
  std::string text;
};

// The values in order, without what redis-cli puts round them on a terminal: `1) 2) (integer) 7`, `3) "text"`.
std::vector<Value> ReadValues(const std::string& content) {
  constexpr std::string_view kInteger = "(integer) ";
  std::vector<Value> values;
  std::istringstream stream(content);
  int number = 0;
  for (std::string text; std::getline(stream, text);) {
    ++number;
    if (const size_t marker = text.rfind(") ");
        marker != std::string::npos && text.find(kInteger) == std::string::npos) {
      text = text.substr(marker + 2);
    } else if (const size_t integer = text.find(kInteger); integer != std::string::npos) {
      text = text.substr(integer + kInteger.size());
    }
    while (!text.empty() && (text.back() == '\r' || text.back() == ' ')) text.pop_back();
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
    if (text.empty() || text == "(empty array)" || text.ends_with("(empty array)")) continue;
    values.push_back({number, text});
  }
  return values;
}

absl::StatusOr<ImportedRing> ParseSlots(const std::string& file, const std::string& content) {
  const std::vector<Value> values = ReadValues(content);
  const auto number = [&](size_t i) { return i < values.size() ? NumberOf(values[i].text) : std::nullopt; };
  const auto wrong = [&](size_t i, const std::string& text) {
    return WrongLine(file, values.empty() ? 1 : values[std::min(i, values.size() - 1)].line, text);
  };
  ClusterBuilder builder;
  for (size_t i = 0; i < values.size();) {
    const auto first = number(i);
    const auto last = number(i + 1);
    if (!first || !last) return wrong(i, "this is neither CLUSTER NODES nor CLUSTER SLOTS: no first and last slot");
    builder.AddRange(*first, *last);
    i += 2;
    bool is_master = true;
    while (i < values.size() && !number(i)) {
      if (!number(i + 1) || i + 2 >= values.size()) return wrong(i, "an owner has no host, port and id");
      const std::string& id = values[i + 2].text;
      builder.AddNode(id, fmt::format("{}:{}", values[i].text, values[i + 1].text), is_master);
      builder.AddOwner(id);
      is_master = false;
      i += 3;
      // Names of the node beside its address, in pairs: what is followed by a port is the next owner.
      while (i + 1 < values.size() && !number(i) && !number(i + 1)) i += 2;
    }
    if (is_master) return wrong(i, fmt::format("slots {}..{} have no owner", *first, *last));
  }
  if (!builder.HasRanges()) return wrong(0, "there are no slots");
  return builder.Take(file);
}

}  // namespace

bool LooksLikeClusterNodes(const std::string& line) {
  constexpr std::string_view kHex = "0123456789abcdef";
  return line.size() > kIdBytes && line[kIdBytes] == ' ' &&
         std::all_of(line.begin(), line.begin() + kIdBytes, [&](char c) { return kHex.find(c) != kHex.npos; });
}

absl::StatusOr<ImportedRing> ParseRedisCluster(const std::string& file, const std::string& content) {
  return LooksLikeClusterNodes(content.substr(0, content.find('\n'))) ? ParseNodes(file, content)
                                                                      : ParseSlots(file, content);
}

}  // namespace ringd::ctl
