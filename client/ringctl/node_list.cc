#include "client/ringctl/node_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "client/ringctl/argument_values.h"
#include "client/ringctl/escape.h"

namespace ringd::ctl {
namespace {

// The words between blanks. A CR before the end of the line is a blank too.
std::vector<std::string> WordsOf(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream stream(line);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

bool IsAlnum(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// HOST, HOST:PORT, [V6] or [V6]:PORT. Anything else is a list of another form, and would be hashed as what it is not.
bool IsHostPort(std::string_view text) {
  std::string_view host = text;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return false;
    host = text.substr(1, end - 1);
    text = text.substr(end + 1);
    if (host.find_first_not_of("0123456789abcdefABCDEF:.") != std::string_view::npos) return false;
  } else {
    host = text.substr(0, text.find(':'));
    text = text.substr(host.size());
    const auto fits = [](char c) { return IsAlnum(c) || c == '.' || c == '-' || c == '_'; };
    if (!std::all_of(host.begin(), host.end(), fits) || host.starts_with('-')) return false;
  }
  if (host.empty()) return false;
  const std::optional<uint64_t> port = text.empty() ? std::nullopt : ParseDecimal(text.substr(1));
  return text.empty() || (text.front() == ':' && port && *port >= 1 && *port <= 65535);
}

}  // namespace

absl::StatusOr<ImportedRing> ParseNodeList(const std::string& file, const std::string& content) {
  NodeLines nodes(file);
  std::istringstream stream(content);
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    const std::vector<std::string> words = WordsOf(line);
    if (words.empty() || words[0].front() == '#') continue;
    if (words.size() > 2) {
      return WrongLine(file, number,
                       fmt::format("{} is left over: a line has HOST[:PORT] and WEIGHT", Quoted(words[2])));
    }
    if (!IsHostPort(words[0])) {
      return WrongLine(file, number,
                       fmt::format("{} is not HOST[:PORT]: a line has HOST[:PORT] and WEIGHT", Quoted(words[0])));
    }
    v1::Node node;
    node.set_id(words[0]);
    node.set_address(words[0]);
    if (words.size() == 2) {
      const absl::StatusOr<uint32_t> weight = ParseWireNumber("weight", words[1]);
      if (!weight.ok()) return WrongLine(file, number, std::string(weight.status().message()));
      node.set_weight(*weight);
    }
    if (absl::Status status = nodes.Add(number, std::move(node)); !status.ok()) return status;
  }
  if (nodes.empty()) return WrongLine(file, number, "the list ends, and has no nodes");
  return ImportedRing{.origin = "a list", .settings = {}, .nodes = nodes.Take(), .warnings = {}};
}

}  // namespace ringd::ctl
