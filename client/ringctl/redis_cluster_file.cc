#include "client/ringctl/redis_cluster_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string_view>
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

bool IsId(std::string_view text) {
  return text.size() == kIdBytes && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Gathers nodes and ranges, each node once.
class ClusterBuilder {
 public:
  ClusterBuilder() {
    ring_.origin = "a Redis Cluster";
    ring_.settings.mutable_placement()->mutable_preset()->set_preset(v1::PRESET_REDIS_CLUSTER);
  }

  // `line` is where it is told.
  void AddNode(const std::string& file, int line, const std::string& id, const std::string& address, bool is_master) {
    const auto [it, added] = numbers_.try_emplace(id, ring_.nodes.size());
    if (added) {
      v1::Node& node = ring_.nodes.emplace_back();
      node.set_id(id);
      node.set_weight(0);
      const bool known = address.rfind(':') != 0 && !address.starts_with('?');  // "::1:6379" has a host, ":6379" none
      if (known) node.set_address(address);
      if (!known) Warn(TextAt(file, line, fmt::format("node {} does not tell its address", id)));
    }
    // Its weight is the default's.
    if (is_master) ring_.nodes[it->second].clear_weight();
  }
  void AddRange(uint32_t first, uint32_t last) {
    ring_.ranges.emplace_back();
    ring_.ranges.back().set_first(first);
    ring_.ranges.back().set_last(last);
  }
  void Warn(const std::string& text) { ring_.warnings.push_back(text); }
  void AddOwner(const std::string& id) { ring_.ranges.back().add_node_ids(id); }
  bool HasRanges() const { return !ring_.ranges.empty(); }

  // INVALID_ARGUMENT for slots that are missing, told twice, or beyond the last.
  absl::StatusOr<ImportedRing> Take(const std::string& file) {
    std::sort(ring_.ranges.begin(), ring_.ranges.end(),
              [](const v1::SlotRange& a, const v1::SlotRange& b) { return a.first() < b.first(); });
    const auto wrong = [&](const std::string& text) {
      return absl::InvalidArgumentError(
          fmt::format("{}: a directory takes each of {} slots once; {}", file, kSlots, text));
    };
    uint32_t next = 0;
    for (const v1::SlotRange& range : ring_.ranges) {
      if (range.last() < range.first() || range.last() >= kSlots) {
        return wrong(fmt::format("{}..{} is not in 0..{}", range.first(), range.last(), kSlots - 1));
      }
      if (range.first() < next) return wrong(fmt::format("slot {} is told twice", range.first()));
      if (range.first() > next) break;
      next = range.last() + 1;
    }
    if (next < kSlots) return wrong(fmt::format("slot {} is missing", next));
    return std::move(ring_);
  }

 private:
  ImportedRing ring_;
  std::map<std::string, size_t> numbers_;
};

// --- CLUSTER NODES: <id> <ip:port@cport[,hostname]> <flags> <master> <ping> <pong> <epoch> <link> <slot>...

constexpr size_t kWordsBeforeSlots = 8;

struct NodeLine {
  int line = 0;
  std::vector<std::string> words;

  const std::string& id() const { return words[0]; }
  std::string address() const { return words[1].substr(0, words[1].find('@')); }
  const std::string& flags() const { return words[2]; }
  const std::string& master() const { return words[3]; }
  bool is_master() const { return master() == "-"; }
  std::span<const std::string> slots() const { return std::span(words).subspan(kWordsBeforeSlots); }
  // Redis does not send readers to it.
  bool is_gone() const {
    const std::string listed = "," + flags() + ",";
    const auto has = [&](std::string_view flag) { return listed.find(fmt::format(",{},", flag)) != std::string::npos; };
    return has("fail") || has("noaddr") || has("handshake");
  }
};

absl::StatusOr<std::vector<NodeLine>> ReadNodeLines(const std::string& file, const std::string& content) {
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

// Whose slots are imported, and whose replicas. The others are left out with a warning, as CLUSTER SLOTS leaves out
// most of them. A master that has slots is their owner, whatever became of it.
std::vector<const NodeLine*> OwnersOf(const std::string& file, const std::vector<NodeLine>& lines,
                                      ClusterBuilder* builder) {
  std::vector<const NodeLine*> owners;
  std::set<std::string_view> masters;
  const auto warn = [&](const NodeLine& line, const std::string& text) {
    builder->Warn(TextAt(file, line.line, fmt::format("node {} {}", line.id(), text)));
  };
  for (const NodeLine& line : lines) {
    if (line.is_master() && !line.slots().empty()) masters.insert(line.id());
  }
  for (const NodeLine& line : lines) {
    if (masters.contains(line.id())) {
      if (line.is_gone()) warn(line, fmt::format("has slots, and is {}", line.flags()));
      owners.push_back(&line);
    } else if (line.is_gone()) {
      warn(line, fmt::format("is {}, and is left out", line.flags()));
    } else if (line.is_master()) {
      warn(line, "is a master without slots, and is left out");
    } else if (!masters.contains(line.master())) {
      warn(line, "is a replica of none that has slots, and is left out");
    } else {
      owners.push_back(&line);
    }
  }
  return owners;
}

absl::StatusOr<ImportedRing> ParseNodes(const std::string& file, const std::string& content) {
  const absl::StatusOr<std::vector<NodeLine>> lines = ReadNodeLines(file, content);
  if (!lines.ok()) return lines.status();
  ClusterBuilder builder;
  const std::vector<const NodeLine*> owners = OwnersOf(file, *lines, &builder);
  for (const NodeLine* owner : owners) {
    builder.AddNode(file, owner->line, owner->id(), owner->address(), owner->is_master());
  }
  for (const NodeLine* owner : owners) {
    for (const std::string& slots : owner->slots()) {
      if (slots.front() == '[') {
        builder.Warn(TextAt(file, owner->line,
                            fmt::format("a slot on its way, {}, is still that of the node that has it", slots)));
        continue;
      }
      const size_t dash = slots.find('-');
      const auto first = NumberOf(slots.substr(0, dash));
      const auto last = dash == std::string::npos ? first : NumberOf(slots.substr(dash + 1));
      if (!first || !last) return WrongLine(file, owner->line, fmt::format("{} are no slots", Quoted(slots)));
      builder.AddRange(*first, *last);
      builder.AddOwner(owner->id());
      for (const NodeLine* other : owners) {
        if (other->master() == owner->id()) builder.AddOwner(other->id());
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
    if (text.ends_with("(empty array)")) continue;
    // An empty one is the host of a node that does not know its own address, or an empty array in a pipe.
    values.push_back({number, text == "(nil)" ? "" : text});
  }
  while (!values.empty() && values.back().text.empty()) values.pop_back();
  return values;
}

absl::StatusOr<ImportedRing> ParseSlots(const std::string& file, const std::string& content) {
  const std::vector<Value> values = ReadValues(content);
  const auto number = [&](size_t i) { return i < values.size() ? NumberOf(values[i].text) : std::nullopt; };
  const auto wrong = [&](size_t i, const std::string& text) {
    return WrongLine(file, values.empty() ? 1 : values[std::min(i, values.size() - 1)].line, text);
  };
  const auto is_empty_array = [&](size_t i) {
    if (i >= values.size() || !values[i].text.empty()) return false;
    return !number(i + 1) || i + 2 >= values.size() || !IsId(values[i + 2].text);
  };
  ClusterBuilder builder;
  for (size_t i = 0; i < values.size();) {
    if (is_empty_array(i)) {
      ++i;
      continue;
    }
    const auto first = number(i);
    const auto last = number(i + 1);
    if (!first || !last) return wrong(i, "this is neither CLUSTER NODES nor CLUSTER SLOTS: no first and last slot");
    builder.AddRange(*first, *last);
    i += 2;
    bool is_master = true;
    while (i < values.size() && !number(i)) {
      if (is_empty_array(i)) {
        ++i;
        continue;
      }
      if (!number(i + 1) || i + 2 >= values.size()) return wrong(i, "an owner has no host, port and id");
      const std::string& id = values[i + 2].text;
      builder.AddNode(file, values[i].line, id, fmt::format("{}:{}", values[i].text, values[i + 1].text), is_master);
      builder.AddOwner(id);
      is_master = false;
      i += 3;
      // Names of the node beside its address, in pairs: what is followed by a port is the next owner.
      while (i + 1 < values.size() && !values[i].text.empty() && !number(i) && !number(i + 1)) i += 2;
    }
    if (is_master) return wrong(i, fmt::format("slots {}..{} have no owner", *first, *last));
  }
  if (!builder.HasRanges()) return wrong(0, "there are no slots");
  return builder.Take(file);
}

}  // namespace

bool LooksLikeClusterNodes(const std::string& line) {
  return line.size() > kIdBytes && line[kIdBytes] == ' ' && IsId(std::string_view(line).substr(0, kIdBytes));
}

absl::StatusOr<ImportedRing> ParseRedisCluster(const std::string& file, const std::string& content) {
  const size_t begin = content.find_first_not_of(" \t\r\n");
  const std::string first = begin == std::string::npos ? "" : content.substr(begin, content.find('\n', begin) - begin);
  return LooksLikeClusterNodes(first) ? ParseNodes(file, content) : ParseSlots(file, content);
}

}  // namespace ringd::ctl
