// Circle: from the values of a hash function to positions, and back.
//
// Inside ring/ every circle has 2^64 positions. A hash function of fewer values cuts it into cells of equal size, one a
// value: keys lie at the first position of their value's cell, points at the last. So order, arcs and ranges are those
// of the values.
#pragma once

#include <algorithm>
#include <cstdint>

namespace ringd::ring {

class Circle {
 public:
  // Of all 64-bit values.
  Circle() = default;
  // Of the values 0..last, two at least. What 2^64 leaves over when it is divided by their number belongs to the last
  // cell.
  explicit Circle(uint64_t last)
      : last_(last), cell_(last == UINT64_MAX ? 1 : UINT64_MAX / (last + 1) + WholeCells(last)) {}

  uint64_t last_value() const { return last_; }
  // The first and the last position of a value's cell. REQUIRES value <= last_value().
  uint64_t First(uint64_t value) const { return value * cell_; }
  uint64_t Last(uint64_t value) const { return value == last_ ? UINT64_MAX : (value + 1) * cell_ - 1; }
  // The value that a position belongs to.
  uint64_t Value(uint64_t position) const { return std::min(position / cell_, last_); }

 private:
  // UINT64_MAX / n is one short of 2^64 / n where n divides 2^64.
  static uint64_t WholeCells(uint64_t last) { return UINT64_MAX % (last + 1) == last ? 1 : 0; }

  uint64_t last_ = UINT64_MAX;
  uint64_t cell_ = 1;
};

}  // namespace ringd::ring
