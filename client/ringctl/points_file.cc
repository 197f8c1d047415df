#include "client/ringctl/points_file.h"

#include <sstream>

#include "client/ringctl/argument_values.h"
#include "client/ringctl/imported_ring.h"

namespace ringd::ctl {

absl::StatusOr<std::vector<uint64_t>> ParsePoints(const std::string& file, const std::string& content) {
  std::vector<uint64_t> points;
  std::istringstream lines(content);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      const absl::StatusOr<uint64_t> point = ParsePosition("point", word);
      if (!point.ok()) return WrongLine(file, number, std::string(point.status().message()));
      points.push_back(*point);
    }
  }
  return points;
}

}  // namespace ringd::ctl
