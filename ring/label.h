// The text that is hashed for a point: a template in which {key} is a node's hash_key and {index} the number of the
// point, from 0, in decimal. Pure values, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace ringd::ring {

inline constexpr size_t kMaxLabelBytes = 255;

// INVALID_ARGUMENT unless the label has {key} once and {index} at most once, no other brace, and 1..255 bytes of UTF-8.
absl::Status CheckLabel(std::string_view label);

// A label, taken apart.
class LabelTemplate {
 public:
  // Copies. REQUIRES CheckLabel(label).
  explicit LabelTemplate(std::string_view label);

  // Without an index all points of a node lie on one position: one is enough, and weights do nothing.
  bool has_index() const { return order_ != Order::kKeyAlone; }

  // Whether two pairs of key and index can have one label, as "10.0.0.1" + "15" and "10.0.0.11" + "5" have under
  // "{key}{index}". They can when nothing but digits stands between the two, and then some nodes get fewer keys than
  // their weight says. True for some keys, not for all: look at the points. A label without an index never does.
  bool MayGlue() const;

 private:
  friend class NodeLabels;
  enum class Order { kKeyAlone, kKeyFirst, kIndexFirst };

  Order order_;
  std::string before_;   // before the first of {key} and {index}
  std::string between_;  // between them
  std::string after_;
};

// NodeLabels writes the labels of one node, one after the other, into one buffer.
class NodeLabels {
 public:
  NodeLabels(const LabelTemplate& label, std::string_view key);

  // The label of a point, good until the next call. Cost: the digits, and the bytes after them.
  std::string_view At(uint64_t index);

 private:
  bool has_index_;
  std::string text_;   // what stands before the index, then the label that was asked for last
  size_t index_at_;    // where the index begins
  std::string after_;  // what stands after it
};

}  // namespace ringd::ring
