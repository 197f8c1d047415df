#pragma once

#include <string>
#include <vector>

namespace ringd::ctl {

// Rows are what tables and tsv are printed from. Cells are raw: both forms escape them.
struct Rows {
  std::vector<std::string> headers;
  std::vector<std::vector<std::string>> cells;  // each as long as `headers`
};

enum class Headers { kShow, kHide };

// TableText is for people: columns aligned to the left, upper-case headers, no lines drawn. An empty cell is "-".
std::string TableText(const Rows& rows, Headers headers);

// TsvText is for programs: tabs between cells, no headers.
std::string TsvText(const Rows& rows);

}  // namespace ringd::ctl
