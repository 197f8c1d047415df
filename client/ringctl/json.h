#pragma once

#include <google/protobuf/message.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace ringd::ctl {

// Json keeps the order of its keys.
using Json = nlohmann::ordered_json;

// ToJson is the message by JsonFormat with names as in the .proto and default values printed: 64-bit integers are
// strings, bytes are base64. The same message always gives the same text; keys of maps are in order.
Json ToJson(const google::protobuf::Message& message);

// ToJsonWithoutPaging is ToJson without next_page_token, age and stale: what is left of pages that were joined.
Json ToJsonWithoutPaging(const google::protobuf::Message& joined_pages);

// KeyJson is an object with a key: as "key", or as "key_base64" where it is no UTF-8.
Json KeyJson(std::string_view key);

// JsonText is an indented document with a newline at its end, and a list of numbers on one line; JsonLine the same on
// one line.
std::string JsonText(const Json& value);
std::string JsonLine(const Json& value);

// YamlText is the same content as YAML in block style, in the same order, with a newline at its end. Strings are
// quoted, so that each stays a string.
std::string YamlText(const Json& value);

}  // namespace ringd::ctl
