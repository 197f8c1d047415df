#include "client/ringctl/json.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_replace.h>
#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver.h>
#include <google/protobuf/util/type_resolver_util.h>
#include <yaml-cpp/yaml.h>

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
    *yaml << (value.empty() ? YAML::Flow : YAML::Block) << YAML::BeginSeq;
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

std::string JsonText(const Json& value) { return value.dump(2) + "\n"; }

std::string JsonLine(const Json& value) { return value.dump() + "\n"; }

std::string YamlText(const Json& value) {
  YAML::Emitter yaml;
  EmitYaml(value, &yaml);
  // yaml-cpp leaves these as they are, and readers refuse or fold them. They occur in quoted strings only.
  return absl::StrReplaceAll(yaml.c_str(), {{"\x7F", "\\x7F"}, {"\u2028", "\\L"}, {"\u2029", "\\P"}, {kMark, "\\U"}}) +
         "\n";
}

}  // namespace ringd::ctl
