#include "client/ringctl/moved_output.h"

#include <fmt/format.h>

#include <utility>

#include "client/ringctl/escape.h"
#include "client/ringctl/json.h"

namespace ringd::ctl {
namespace {

// Rows of a table that stand aligned below one another, at most.
constexpr std::size_t kBlock = 1'000;

std::string Line(std::string_view key, const v1::MovedRange& moved) {
  std::string line;
  AppendTsv(key, TsvList::kNo, &line);
  for (const std::string* owner : {&moved.from(), &moved.to()}) {
    line += '\t';
    AppendTsv(*owner, TsvList::kNo, &line);
  }
  line += '\n';
  return line;
}

}  // namespace

std::string MovedOutput::Add(std::string_view key, const v1::MovedRange& moved) {
  ++count_;
  switch (options_.format) {
    case Format::kTsv:
      return Line(key, moved);
    case Format::kTable:
      return AddRow(key, moved);
    case Format::kJson:
    case Format::kYaml:
      break;
  }
  return AddObject(key, moved);
}

std::string MovedOutput::AddRow(std::string_view key, const v1::MovedRange& moved) {
  rows_.cells.push_back({std::string(key), moved.from(), moved.to()});
  return rows_.cells.size() < kBlock ? "" : Flush();
}

std::string MovedOutput::AddObject(std::string_view key, const v1::MovedRange& moved) {
  Json json = KeyJson(key);
  json["from"] = moved.has_from() ? Json(moved.from()) : Json();
  json["to"] = moved.has_to() ? Json(moved.to()) : Json();
  return (std::exchange(began_, true) ? ",\n" : Beginning()) + json.dump();
}

std::string MovedOutput::Flush() {
  if (rows_.cells.empty()) return "";
  const bool headers = !std::exchange(began_, true) && !options_.no_headers;
  std::string text = TableText(rows_, headers ? Headers::kShow : Headers::kHide);
  rows_.cells.clear();
  return text;
}

std::string MovedOutput::Finish() {
  if (options_.format != Format::kJson) return Flush();
  return (began_ ? "" : Beginning()) + "\n]}\n";
}

std::string MovedOutput::Beginning() const {
  return fmt::format("{{\"from\":{},\"to\":{},\"keys\":[\n", ToJson(diff_.from()).dump(), ToJson(diff_.to()).dump());
}

}  // namespace ringd::ctl
