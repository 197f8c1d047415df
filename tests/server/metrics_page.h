// A page of metrics, read as strictly as Prometheus does where it matters to us.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "prometheus/text_serializer.h"
#include "server/metric_families.h"

namespace ringd::server {

class MetricsPage {
 public:
  explicit MetricsPage(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("# ")) continue;
      const size_t space = line.rfind(' ');
      EXPECT_NE(space, std::string::npos) << line;
      const std::string series = line.substr(0, space);
      EXPECT_FALSE(values_.contains(series)) << "twice: " << series;
      values_[series] = std::stod(line.substr(space + 1));
    }
  }
  explicit MetricsPage(const MetricFamilies& families)
      : MetricsPage(prometheus::TextSerializer().Serialize(families)) {}

  // The value of a series as it is written, labels and all; NaN and a failure when it is not there.
  double operator[](const std::string& series) const {
    const auto it = values_.find(series);
    EXPECT_NE(it, values_.end()) << "no series " << series;
    return it == values_.end() ? std::stod("nan") : it->second;
  }
  bool Has(const std::string& series) const { return values_.contains(series); }
  size_t size() const { return values_.size(); }
  // Those whose text has this in it.
  std::vector<std::string> SeriesWith(const std::string& text) const {
    std::vector<std::string> found;
    for (const auto& [series, value] : values_) {
      if (series.find(text) != std::string::npos) found.push_back(series);
    }
    return found;
  }

 private:
  std::map<std::string, double> values_;
};

}  // namespace ringd::server
