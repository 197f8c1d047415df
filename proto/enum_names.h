// The values of the contract's enums as people write them: "java-crc32-vn" for PRESET_JAVA_CRC32_VN, "at-or-after" for
// POINT_MATCH_AT_OR_AFTER. Pure functions, any thread.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <string_view>
#include <vector>

namespace ringd {

// "number 99" for a number without a name.
inline std::string ShortName(const google::protobuf::EnumDescriptor& type, int number) {
  const auto* value = type.FindValueByNumber(number);
  if (value == nullptr) return "number " + std::to_string(number);
  // All names begin as that of the first value, which is ..._UNSPECIFIED.
  const size_t prefix = type.value(0)->name().size() - std::string_view("UNSPECIFIED").size();
  std::string name = value->name().substr(prefix);
  for (char& c : name) {
    if (c == '_') c = '-';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return name;
}

// The names of all values but the unspecified one, in order of their numbers.
inline std::vector<std::string> ShortNames(const google::protobuf::EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 1; i < type.value_count(); ++i) names.push_back(ShortName(type, type.value(i)->number()));
  return names;
}

// The value of a name; 0, the unspecified one, for a name that is none.
inline int NumberOfName(const google::protobuf::EnumDescriptor& type, std::string_view name) {
  for (int i = 1; i < type.value_count(); ++i) {
    if (ShortName(type, type.value(i)->number()) == name) return type.value(i)->number();
  }
  return 0;
}

}  // namespace ringd
