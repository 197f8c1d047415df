#include "client/ringctl/expected_owner.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "client/ringctl/escape.h"

namespace ringd::ctl {
namespace {

bool HasControlByte(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

}  // namespace

absl::StatusOr<ExpectedOwner> ParseExpectedOwner(std::string_view line) {
  const auto tabs = std::count(line.begin(), line.end(), '\t');
  if (tabs != 1) return absl::InvalidArgumentError(fmt::format("{} tabs: KEY<TAB>OWNER has one", tabs));
  const std::size_t tab = line.find('\t');
  std::optional<std::string> key = ReadTsv(line.substr(0, tab));
  std::optional<std::string> owner = ReadTsv(line.substr(tab + 1));
  for (const auto& [cell, text] : {std::pair(line.substr(0, tab), &key), std::pair(line.substr(tab + 1), &owner)}) {
    if (text->has_value()) continue;
    return absl::InvalidArgumentError(fmt::format("in {} a backslash begins no \\xHH", Quoted(cell)));
  }
  // Inside of an id, lookup prints a comma as \x2C.
  if (line.find(',', tab) != std::string_view::npos) {
    return absl::InvalidArgumentError("several owners; KEY<TAB>OWNER has one, and \\x2C for a comma in an id");
  }
  if (owner->empty()) return absl::InvalidArgumentError("the owner is empty");
  if (HasControlByte(*owner)) {
    return absl::InvalidArgumentError(fmt::format("owner {} has a control byte, which no id has", Quoted(*owner)));
  }
  return ExpectedOwner{.key = *std::move(key), .owner = *std::move(owner)};
}

}  // namespace ringd::ctl
