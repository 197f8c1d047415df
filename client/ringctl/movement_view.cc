#include "client/ringctl/movement_view.h"

#include <fmt/format.h>

#include "client/ringctl/ring_view.h"

namespace ringd::ctl {
namespace {

// More would push the rest of a plan out of sight; json has all that the server names.
constexpr int kMostPairs = 20;

std::string BalanceText(bool there, const v1::Balance& balance) {
  return there ? fmt::format("{:.3f}..{:.3f}", balance.min_ratio(), balance.max_ratio()) : "no weighted node";
}

}  // namespace

std::string MovedText(const v1::Movement* movement) {
  if (movement == nullptr) return "";
  std::string text = fmt::format(", {:.1f}% moved", movement->moved_share() * 100);
  double from_nobody = 0;
  double to_nobody = 0;
  for (const v1::MovedPair& pair : movement->pairs()) {
    if (!pair.has_from()) from_nobody += pair.share();
    if (!pair.has_to()) to_nobody += pair.share();
  }
  if (from_nobody > 0) text += fmt::format(", {:.1f}% got an owner", from_nobody * 100);
  if (to_nobody > 0) text += fmt::format(", {:.1f}% lost theirs", to_nobody * 100);
  return text;
}

std::string MovementBlock(const v1::Movement& movement, const GlobalOptions& options) {
  if (movement.pairs().empty() && movement.new_members_share() == 0) return "";
  Rows rows;
  rows.headers = {"FROM", "TO", "MOVES"};
  double left_out = movement.other_pairs_share();
  for (const v1::MovedPair& pair : movement.pairs()) {
    if (rows.cells.size() < kMostPairs) {
      rows.cells.push_back({pair.from(), pair.to(), ShareText(pair.share(), Format::kTable)});
    } else {
      left_out += pair.share();
    }
  }
  std::string text = RowsText(rows, options);
  if (left_out > 0) text += fmt::format("... and {} between other nodes\n", ShareText(left_out, Format::kTable));
  if (movement.new_members_share() > 0) {
    text += fmt::format("copies that slots get on nodes that had none, all ranks together: {} of the keys\n",
                        ShareText(movement.new_members_share(), Format::kTable));
  }
  return text + fmt::format("share / expected share: {} before, {} after\n",
                            BalanceText(movement.has_before(), movement.before()),
                            BalanceText(movement.has_after(), movement.after()));
}

}  // namespace ringd::ctl
