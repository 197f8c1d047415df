// What a user most likely meant by a word that does not exist. Pure, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ringd::ring {

// ClosestWord is the one of `words` that `typed` most likely stands for: at most two edits away (insert, delete,
// replace, swap of neighbours) and less than half of it edited. Empty when there is none.
std::string ClosestWord(std::string_view typed, const std::vector<std::string>& words);

}  // namespace ringd::ring
