// Figures of two peers that were measured in turn, round by round, so that what disturbs the machine disturbs both.
#pragma once

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace ringd::bench {

inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

class Comparison {
 public:
  void AddRound(double one, double other) {
    ones_.push_back(one);
    others_.push_back(other);
    ratios_.push_back(one / other);
  }

  // [one, other, ratio], all medians: that of the ratios, since the other two may come from different rounds.
  std::string Json() const {
    char text[100];
    std::snprintf(text, sizeof text, "[%.3f, %.3f, %.4f]", Median(ones_), Median(others_), Median(ratios_));
    return text;
  }

 private:
  std::vector<double> ones_;
  std::vector<double> others_;
  std::vector<double> ratios_;
};

inline Comparison Compare(int rounds, const std::function<double()>& one, const std::function<double()>& other) {
  Comparison comparison;
  for (int round = 0; round < rounds; round++) {
    // In turn the first and the second of their round, so that no one of them has the better place.
    const bool other_first = round % 2 == 0;
    double other_value = other_first ? other() : 0;
    const double one_value = one();
    if (!other_first) other_value = other();
    comparison.AddRound(one_value, other_value);
  }
  return comparison;
}

}  // namespace ringd::bench
