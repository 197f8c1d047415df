#include "client/ringctl/table.h"

#include <algorithm>
#include <cstddef>

#include "client/ringctl/escape.h"
#include "ring/utf8.h"

namespace ringd::ctl {
namespace {

std::size_t WidthOf(std::string_view text) {
  std::size_t characters = 0;
  for (; !text.empty(); ++characters) text.remove_prefix(ring::ReadUtf8(text).length);
  return characters;
}

}  // namespace

std::string TableText(const Rows& rows, Headers headers) {
  std::vector<std::vector<std::string>> lines;
  if (headers == Headers::kShow) lines.push_back(rows.headers);
  for (const auto& row : rows.cells) {
    lines.emplace_back();
    for (const std::string& cell : row) lines.back().push_back(cell.empty() ? "-" : ring::Shown(cell));
  }
  std::vector<std::size_t> widths(rows.headers.size());
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], WidthOf(line[i]));
  }
  std::string text;
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      text += line[i];
      if (i + 1 < line.size()) text.append(widths[i] - WidthOf(line[i]) + 2, ' ');
    }
    text += '\n';
  }
  return text;
}

std::string TsvText(const Rows& rows) {
  std::string text;
  for (const auto& row : rows.cells) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) text += '\t';
      AppendTsv(row[i], TsvList::kNo, &text);
    }
    text += '\n';
  }
  return text;
}

}  // namespace ringd::ctl
