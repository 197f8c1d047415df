#include "client/ringctl/imported_ring.h"

#include <fmt/format.h>

#include "client/ringctl/escape.h"

namespace ringd::ctl {

std::string TextAt(const std::string& file, int line, const std::string& text) {
  return fmt::format("{}:{}: {}", file, line, text);
}

absl::Status WrongLine(const std::string& file, int line, const std::string& text) {
  return absl::InvalidArgumentError(TextAt(file, line, text));
}

absl::Status NodeLines::Add(int line, v1::Node node) {
  const std::string& hash_key = node.hash_key().empty() ? node.id() : node.hash_key();
  const auto [id, new_id] = id_lines_.emplace(node.id(), line);
  if (!new_id) {
    return WrongLine(file_, line, fmt::format("{} comes twice, first in line {}", Quoted(node.id()), id->second));
  }
  const auto [key, new_key] = hash_key_lines_.emplace(hash_key, line);
  if (!new_key) {
    return WrongLine(
        file_, line,
        fmt::format("{} is hashed as {}, as the one in line {} is", Quoted(node.id()), Quoted(hash_key), key->second));
  }
  nodes_.push_back(std::move(node));
  return absl::OkStatus();
}

}  // namespace ringd::ctl
