#include "ring/label.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "ring/error.h"
#include "ring/utf8.h"

namespace ringd::ring {
namespace {

constexpr std::string_view kKey = "{key}";
constexpr std::string_view kIndex = "{index}";

size_t Count(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

}  // namespace

absl::Status CheckLabel(std::string_view label) {
  const auto refused = [&](const std::string& why) { return InvalidField("label " + Quote(label) + " " + why); };
  if (label.size() > kMaxLabelBytes) {
    return refused("has " + std::to_string(label.size()) + " bytes, at most " + std::to_string(kMaxLabelBytes) +
                   " are allowed");
  }
  if (!IsValidUtf8(label)) return refused("is not UTF-8");
  const size_t keys = Count(label, kKey);
  const size_t indices = Count(label, kIndex);
  if (keys != 1) return refused("has {key} " + std::to_string(keys) + " times, once is needed");
  if (indices > 1) return refused("has {index} " + std::to_string(indices) + " times, at most once is allowed");
  if (Count(label, "{") != keys + indices || Count(label, "}") != keys + indices) {
    return refused("has a brace that is not of {key} or {index}");
  }
  return absl::OkStatus();
}

LabelTemplate::LabelTemplate(std::string_view label) {
  const size_t key = label.find(kKey);
  const size_t index = label.find(kIndex);
  if (index == std::string_view::npos) {
    order_ = Order::kKeyAlone;
    before_ = label.substr(0, key);
    after_ = label.substr(key + kKey.size());
    return;
  }
  order_ = key < index ? Order::kKeyFirst : Order::kIndexFirst;
  const size_t first_end = key < index ? key + kKey.size() : index + kIndex.size();
  const size_t second = std::max(key, index);
  before_ = label.substr(0, std::min(key, index));
  between_ = label.substr(first_end, second - first_end);
  after_ = label.substr(second + (key < index ? kIndex.size() : kKey.size()));
}

bool LabelTemplate::MayGlue() const {
  // The index ends at a place that is known, the begin or the end of the label being the same for all. A character
  // between key and index that is no digit then shows where it begins, and hence where the key ends.
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return has_index() && std::all_of(between_.begin(), between_.end(), is_digit);
}

NodeLabels::NodeLabels(const LabelTemplate& label, std::string_view key)
    : has_index_(label.has_index()), text_(label.before_) {
  if (label.order_ == LabelTemplate::Order::kIndexFirst) {
    after_ = label.between_;
    after_ += key;
  } else {
    text_ += key;
    text_ += label.between_;
  }
  after_ += label.after_;
  index_at_ = text_.size();
}

std::string_view NodeLabels::At(uint64_t index) {
  std::array<char, 20> digits;
  text_.resize(index_at_);
  if (has_index_) text_.append(digits.data(), std::to_chars(digits.begin(), digits.end(), index).ptr);
  return text_ += after_;
}

}  // namespace ringd::ring
