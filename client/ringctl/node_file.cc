#include "client/ringctl/node_file.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "client/ringctl/argument_values.h"
#include "client/ringctl/escape.h"
#include "proto/yaml_document.h"
#include "ring/closest_word.h"

namespace ringd::ctl {
namespace {

// The \u escape with which `text` begins; 0 where it begins with something else.
uint32_t UnicodeEscape(std::string_view text) {
  uint32_t code = 0;
  if (text.size() < 6 || !text.starts_with("\\u")) return 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + 6, code, 16);
  return error == std::errc() && end == text.data() + 6 ? code : 0;
}

// JSON escapes a character beyond U+FFFF as two halves. YAML knows only the whole, \U and eight digits.
std::string WithWholeEscapes(std::string_view json) {
  std::string yaml;
  while (!json.empty()) {
    const uint32_t high = UnicodeEscape(json);
    const uint32_t low = high == 0 ? 0 : UnicodeEscape(json.substr(6));
    const bool halves = high >= 0xD800 && high < 0xDC00 && low >= 0xDC00 && low < 0xE000;
    // What stands behind a backslash begins no escape.
    const std::size_t taken = halves ? 12 : json.front() == '\\' ? 2 : 1;
    if (halves) {
      yaml += fmt::format("\\U{:08x}", 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00));
    } else {
      yaml += json.substr(0, taken);
    }
    json.remove_prefix(std::min(taken, json.size()));
  }
  return yaml;
}

bool IsJson(std::string_view content) {
  const std::size_t first = content.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && content[first] == '{';
}

// NodeFileReader reads one file. Its methods answer OK, or an error that can be shown.
class NodeFileReader {
 public:
  explicit NodeFileReader(NodeFile* file) : file_(file) {}

  absl::Status ReadDocument(const YAML::Node& document);
  absl::Status Bad(const YAML::Mark& mark, const std::string& text) const {
    return absl::InvalidArgumentError(fmt::format("{}:{}: {}", file_->name, LineOf(mark), text));
  }

 private:
  // What is done with the value of a key; `what` names it in errors.
  using Use = std::function<absl::Status(const std::string& what, const YAML::Node& value)>;

  // Calls what `uses` has for each key of a mapping; other keys must be among `passed_over`. `where` goes before
  // errors.
  absl::Status ReadMapping(const std::string& where, const YAML::Node& mapping, const std::map<std::string, Use>& uses,
                           const std::vector<std::string>& passed_over) const;
  absl::Status ReadNode(const std::string& name, const YAML::Node& node);
  absl::Status ReadNodes(const std::string& what, const YAML::Node& nodes);
  // A value that is not there has no place of its own: `key` is where it belongs.
  absl::Status CheckThere(const std::string& what, const YAML::Node& key, const YAML::Node& value) const {
    return value.IsNull() ? Bad(key.Mark(), fmt::format("{} has no value", what)) : absl::OkStatus();
  }
  absl::Status ReadText(const std::string& what, const YAML::Node& value, std::string* text) const;
  absl::Status ReadWeight(const std::string& what, const YAML::Node& value, v1::Node* node) const;
  absl::Status ReadMetadata(const std::string& what, const YAML::Node& value, v1::Node* node) const;
  absl::Status ReadPoints(const std::string& what, const YAML::Node& value, v1::Node* node) const;

  NodeFile* file_;
  std::map<std::string, int> lines_;  // of the ids
};

absl::Status NodeFileReader::ReadMapping(const std::string& where, const YAML::Node& mapping,
                                         const std::map<std::string, Use>& uses,
                                         const std::vector<std::string>& passed_over) const {
  std::map<std::string, int> lines;
  for (const auto& pair : mapping) {
    const YAML::Node& key_node = pair.first;
    std::string key;
    if (absl::Status status = ReadText(where + "a key", key_node, &key); !status.ok()) return status;
    const auto [earlier, is_new] = lines.emplace(key, LineOf(key_node.Mark()));
    if (!is_new) {
      return Bad(key_node.Mark(),
                 fmt::format("{}{} comes twice, first in line {}", where, Quoted(key), earlier->second));
    }
    if (const auto use = uses.find(key); use != uses.end()) {
      if (absl::Status status = CheckThere(where + key, key_node, pair.second); !status.ok()) return status;
      if (absl::Status status = use->second(where + key, pair.second); !status.ok()) return status;
    } else if (std::find(passed_over.begin(), passed_over.end(), key) == passed_over.end()) {
      std::vector<std::string> names;
      names.reserve(uses.size());
      for (const auto& [name, unused] : uses) names.push_back(name);
      const std::string closest = ring::ClosestWord(key, names);
      return Bad(key_node.Mark(), fmt::format("{}unknown key {}{}", where, Quoted(key),
                                              closest.empty() ? "" : fmt::format("; did you mean \"{}\"?", closest)));
    }
  }
  return absl::OkStatus();
}

absl::Status NodeFileReader::ReadText(const std::string& what, const YAML::Node& value, std::string* text) const {
  if (!value.IsScalar()) return Bad(value.Mark(), fmt::format("{} is no text", what));
  *text = value.Scalar();
  return absl::OkStatus();
}

absl::Status NodeFileReader::ReadWeight(const std::string& what, const YAML::Node& value, v1::Node* node) const {
  std::string text;
  if (absl::Status status = ReadText(what, value, &text); !status.ok()) return status;
  const absl::StatusOr<uint32_t> weight = ParseWireNumber(what, text);
  if (!weight.ok()) return Bad(value.Mark(), std::string(weight.status().message()));
  node->set_weight(*weight);
  return absl::OkStatus();
}

absl::Status NodeFileReader::ReadMetadata(const std::string& what, const YAML::Node& value, v1::Node* node) const {
  if (!value.IsMap()) return Bad(value.Mark(), fmt::format("{} is no mapping of texts; {{}} is an empty one", what));
  for (const auto& pair : value) {
    const YAML::Node& key_node = pair.first;
    std::string key;
    if (absl::Status status = ReadText(what + ": a key", key_node, &key); !status.ok()) return status;
    if (node->metadata().contains(key))
      return Bad(key_node.Mark(), fmt::format("{}: {} comes twice", what, Quoted(key)));
    const std::string item = fmt::format("{}: {}", what, Quoted(key));
    if (absl::Status status = CheckThere(item, key_node, pair.second); !status.ok()) return status;
    std::string& text = (*node->mutable_metadata())[key];
    if (absl::Status status = ReadText(item, pair.second, &text); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status NodeFileReader::ReadPoints(const std::string& what, const YAML::Node& value, v1::Node* node) const {
  if (!value.IsSequence()) return Bad(value.Mark(), fmt::format("{} is no list; [] is an empty one", what));
  for (const YAML::Node& item : value) {
    std::string text;
    if (absl::Status status = ReadText(what, item, &text); !status.ok()) return status;
    const absl::StatusOr<uint64_t> point = ParsePosition(what, text);
    if (!point.ok()) return Bad(item.Mark(), std::string(point.status().message()));
    node->add_points(*point);
  }
  return absl::OkStatus();
}

absl::Status NodeFileReader::ReadNode(const std::string& name, const YAML::Node& node) {
  if (!node.IsMap()) return Bad(node.Mark(), fmt::format("{} is no mapping, with lines such as \"id: n1\"", name));
  NodeFile::Entry entry{.node = {}, .line = LineOf(node.Mark())};
  v1::Node& read = entry.node;
  const auto text = [this](std::string* field) {
    return [this, field](const std::string& what, const YAML::Node& value) { return ReadText(what, value, field); };
  };
  bool has_id = false;
  const std::map<std::string, Use> uses = {
      {"id",
       [&](const std::string& what, const YAML::Node& value) {
         has_id = true;
         return ReadText(what, value, read.mutable_id());
       }},
      {"address", text(read.mutable_address())},
      {"zone", text(read.mutable_zone())},
      {"hash_key", text(read.mutable_hash_key())},
      {"weight", [&](const std::string& what, const YAML::Node& value) { return ReadWeight(what, value, &read); }},
      {"metadata", [&](const std::string& what, const YAML::Node& value) { return ReadMetadata(what, value, &read); }},
      {"points", [&](const std::string& what, const YAML::Node& value) { return ReadPoints(what, value, &read); }},
  };
  if (absl::Status status = ReadMapping(name + ": ", node, uses, {"share", "join_number"}); !status.ok()) return status;
  if (!has_id) return Bad(node.Mark(), fmt::format("{} has no id", name));
  const auto [earlier, is_new] = lines_.emplace(read.id(), entry.line);
  if (!is_new) {
    return Bad(node.Mark(), fmt::format("node {} comes twice, first in line {}", Quoted(read.id()), earlier->second));
  }
  file_->entries.push_back(std::move(entry));
  return absl::OkStatus();
}

absl::Status NodeFileReader::ReadNodes(const std::string& what, const YAML::Node& nodes) {
  if (!nodes.IsSequence()) return Bad(nodes.Mark(), fmt::format("{} is no list; [] is an empty one", what));
  for (const YAML::Node& node : nodes) {
    // By its id where it has one, else by its place.
    const YAML::Node id = node.IsMap() ? node["id"] : YAML::Node();
    const std::string name = id.IsDefined() && id.IsScalar() ? fmt::format("node {}", Quoted(id.Scalar()))
                                                             : fmt::format("nodes[{}]", file_->entries.size());
    if (absl::Status status = ReadNode(name, node); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status NodeFileReader::ReadDocument(const YAML::Node& document) {
  if (document.IsNull()) return absl::OkStatus();
  if (!document.IsMap()) return Bad(document.Mark(), "the document is no mapping with the key \"nodes\"");
  bool has_nodes = false;
  const std::map<std::string, Use> uses = {{"nodes", [&](const std::string& what, const YAML::Node& value) {
                                              has_nodes = true;
                                              return ReadNodes(what, value);
                                            }}};
  if (absl::Status status = ReadMapping("", document, uses, {"version", "ring", "slot_owners"}); !status.ok())
    return status;
  return has_nodes ? absl::OkStatus() : Bad(document.Mark(), "the key \"nodes\" is missing");
}

}  // namespace

absl::StatusOr<NodeFile> ParseNodeFile(const std::string& name, const std::string& content) {
  NodeFile file{.name = name, .entries = {}};
  NodeFileReader reader(&file);
  // The library throws; that ends here.
  try {
    const YamlDocuments documents = LoadYaml(IsJson(content) ? WithWholeEscapes(content) : content);
    if (documents.second.has_value()) return reader.Bad(*documents.second, "a second document begins");
    if (documents.first.has_value()) {
      if (absl::Status status = reader.ReadDocument(*documents.first); !status.ok()) return status;
    }
  } catch (const YAML::Exception& error) {
    return reader.Bad(error.mark, error.msg);
  }
  return file;
}

}  // namespace ringd::ctl
