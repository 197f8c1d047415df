#include "client/ringctl/json.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_replace.h>
#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver.h>
#include <google/protobuf/util/type_resolver_util.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "proto/serialize.h"
#include "ring/utf8.h"

namespace ringd::ctl {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::Message;

// yaml-cpp writes another character in the place of a noncharacter, which a name may have. So these stand behind a
// mark until the rest is written, and so does the mark itself.
constexpr char kMark[] = "\uE000";

bool IsNoncharacter(char32_t code) { return (code & 0xFFFE) == 0xFFFE || (code >= 0xFDD0 && code <= 0xFDEF); }

std::string Marked(std::string_view text) {
  std::string marked;
  while (!text.empty()) {
    const ring::Utf8Char next = ring::ReadUtf8(text);
    const std::string_view character = text.substr(0, next.length);
    if (next.valid && (IsNoncharacter(next.code) || character == kMark)) {
      marked += fmt::format("{}{:08X}", kMark, static_cast<uint32_t>(next.code));
    } else {
      marked += character;
    }
    text.remove_prefix(next.length);
  }
  return marked;
}

// Whether this is a list of numbers alone, 64-bit ones among them, which are texts. Such a list is a line of its own:
// it may have a million.
bool IsNumbers(const Json& value) {
  const auto is_number = [](const Json& item) {
    if (!item.is_string()) return item.is_number();
    const auto& text = item.get_ref<const std::string&>();
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  };
  return value.is_array() && !value.empty() && std::all_of(value.begin(), value.end(), is_number);
}

void AppendIndented(const Json& value, std::size_t indent, std::string* text) {
  if (!value.is_structured() || value.empty() || IsNumbers(value)) {
    *text += value.dump();
    return;
  }
  *text += value.is_array() ? "[" : "{";
  const char* before = "\n";
  for (const auto& [key, item] : value.items()) {
    *text += before + std::string(indent + 2, ' ');
    if (value.is_object()) *text += Json(key).dump() + ": ";
    AppendIndented(item, indent + 2, text);
    before = ",\n";
  }
  *text += "\n" + std::string(indent, ' ') + (value.is_array() ? "]" : "}");
}

void EmitYaml(const Json& value, YAML::Emitter* yaml) {
  if (value.is_object()) {
    *yaml << (value.empty() ? YAML::Flow : YAML::Block) << YAML::BeginMap;
    for (const auto& [key, item] : value.items()) {
      // A key of a map is text of a user and may look like a number or a truth value.
      const bool plain = !key.empty() && key.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos &&
                         key != "true" && key != "false" && key != "yes" && key != "no" && key != "on" &&
                         key != "off" && key != "null" && key != "y" && key != "n";
      *yaml << YAML::Key;
      if (!plain) *yaml << YAML::DoubleQuoted;
      *yaml << Marked(key) << YAML::Value;
      EmitYaml(item, yaml);
    }
    *yaml << YAML::EndMap;
  } else if (value.is_array()) {
    *yaml << (value.empty() || IsNumbers(value) ? YAML::Flow : YAML::Block) << YAML::BeginSeq;
    for (const Json& item : value) EmitYaml(item, yaml);
    *yaml << YAML::EndSeq;
  } else if (value.is_string()) {
    *yaml << YAML::DoubleQuoted << Marked(value.get<std::string>());
  } else {
    *yaml << value.dump();
  }
}

}  // namespace

Json ToJson(const Message& message) {
  // MessageToJsonString has no fixed order for the keys of maps; the bytes of a deterministic serialization have.
  static const std::unique_ptr<google::protobuf::util::TypeResolver> resolver(
      google::protobuf::util::NewTypeResolverForDescriptorPool("type.googleapis.com",
                                                               DescriptorPool::generated_pool()));
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status = google::protobuf::util::BinaryToJsonString(
      resolver.get(), "type.googleapis.com/" + message.GetDescriptor()->full_name(), SerializeDeterministic(message),
      &text, options);
  return status.ok() ? Json::parse(text) : Json();
}

Json ToJsonWithoutPaging(const Message& joined_pages) {
  Json value = ToJson(joined_pages);
  for (const char* key : {"next_page_token", "age", "stale"}) value.erase(key);
  return value;
}

Json KeyJson(std::string_view key) {
  if (ring::IsValidUtf8(key)) return {{"key", std::string(key)}};
  return {{"key_base64", absl::Base64Escape({key.data(), key.size()})}};
}

std::string JsonText(const Json& value) {
  std::string text;
  AppendIndented(value, 0, &text);
  return text + "\n";
}

std::string JsonLine(const Json& value) { return value.dump() + "\n"; }

std::string YamlText(const Json& value) {
  YAML::Emitter yaml;
  EmitYaml(value, &yaml);
  // yaml-cpp leaves these as they are, and readers refuse or fold them. They occur in quoted strings only.
  return absl::StrReplaceAll(yaml.c_str(), {{"\x7F", "\\x7F"}, {"\u2028", "\\L"}, {"\u2029", "\\P"}, {kMark, "\\U"}}) +
         "\n";
}

}  // namespace ringd::ctl
