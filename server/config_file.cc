#include "server/config_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "proto/small_file.h"
#include "proto/yaml_document.h"
#include "ring/error.h"
#include "ring/utf8.h"

namespace ringd::server {
namespace {

// The library puts bytes of the file into its texts.
absl::Status Bad(const std::string& text) {
  return ring::Error(absl::StatusCode::kInvalidArgument, kBadConfig, ring::Shown(text));
}

// What is wrong with a value; empty = nothing.
std::string ReadValue(const YAML::Node& value, ConfigEntry* entry) {
  entry->is_list = value.IsSequence();
  if (value.IsNull()) return "has no value";
  if (value.IsScalar()) {
    entry->values = {value.Scalar()};
    return "";
  }
  if (!value.IsSequence()) return "takes a value or a list of values, not a mapping";
  if (value.size() == 0) return "is an empty list: leave it out instead";
  for (const YAML::Node& element : value) {
    if (!element.IsScalar()) return "takes a list of values, and of nothing else";
    entry->values.push_back(element.Scalar());
  }
  return "";
}

absl::StatusOr<std::vector<ConfigEntry>> ReadMapping(const std::string& file, const YAML::Node& root) {
  std::vector<ConfigEntry> entries;
  if (root.IsNull()) return entries;  // nothing but comments
  if (!root.IsMap()) {
    return Bad(
        fmt::format("{}:{}: a mapping is wanted, with lines such as \"history-max: 1000\"", file, LineOf(root.Mark())));
  }
  for (const auto& pair : root) {
    ConfigEntry entry{.line = LineOf(pair.first.Mark())};
    if (!pair.first.IsScalar()) return Bad(fmt::format("{}:{}: a key is a word", file, entry.line));
    entry.key = pair.first.Scalar();
    const std::string name = ring::Quote(entry.key);
    const auto same = std::find_if(entries.begin(), entries.end(),
                                   [&entry](const ConfigEntry& earlier) { return earlier.key == entry.key; });
    if (same != entries.end()) {
      return Bad(fmt::format("{}:{}: {} comes twice, first in line {}", file, entry.line, name, same->line));
    }
    if (const std::string why = ReadValue(pair.second, &entry); !why.empty()) {
      return Bad(fmt::format("{}:{}: {} {}", file, entry.line, name, why));
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace

absl::StatusOr<std::vector<ConfigEntry>> ReadConfigFile(const std::string& file) {
  const SmallFile read = ReadSmallFile(file);
  if (!read.why_not.empty()) return Bad(fmt::format("configuration file \"{}\" {}", file, read.why_not));
  // The library throws; that ends here.
  try {
    const YamlDocuments documents = LoadYaml(read.content);
    if (!documents.first.has_value()) return std::vector<ConfigEntry>();
    if (documents.second.has_value()) {
      return Bad(fmt::format("{}:{}: a second document begins", file, LineOf(*documents.second)));
    }
    return ReadMapping(file, *documents.first);
  } catch (const YAML::Exception& error) {
    return Bad(fmt::format("{}:{}: {}", file, LineOf(error.mark), error.msg));
  }
}

}  // namespace ringd::server
