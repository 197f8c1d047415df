#include "client/ringctl/node_list.h"

#include <fmt/format.h>

#include <sstream>
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
