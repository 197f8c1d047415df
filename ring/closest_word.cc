#include "ring/closest_word.h"

#include <algorithm>
#include <cstddef>

namespace ringd::ring {
namespace {

// Optimal string alignment distance.
std::size_t Edits(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> edits(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        edits[i][j] = i + j;
        continue;
      }
      const std::size_t replace = edits[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      edits[i][j] = std::min({edits[i - 1][j] + 1, edits[i][j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        edits[i][j] = std::min(edits[i][j], edits[i - 2][j - 2] + 1);
      }
    }
  }
  return edits[a.size()][b.size()];
}

}  // namespace

std::string ClosestWord(std::string_view typed, const std::vector<std::string>& words) {
  if (typed.size() > 64) return "";
  std::string closest;
  std::size_t fewest = 3;
  for (const std::string& word : words) {
    const std::size_t edits = Edits(typed, word);
    if (edits < fewest && 2 * edits < word.size()) {
      closest = word;
      fewest = edits;
    }
  }
  return closest;
}

}  // namespace ringd::ring
