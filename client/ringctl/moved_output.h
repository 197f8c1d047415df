#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "client/ringctl/options.h"
#include "client/ringctl/table.h"

namespace ringd::ctl {

// MovedOutput writes keys that moved as one document, in constant memory; the forms are those that commands.h
// describes. Each method answers the text that comes next. Not thread-safe.
class MovedOutput {
 public:
  // Both must outlive it. REQUIRES: another format than yaml.
  MovedOutput(const GlobalOptions& options, const v1::DiffVersionsResponse& diff) : options_(options), diff_(diff) {}

  std::string Add(std::string_view key, const v1::MovedRange& moved);
  // What was added and held back, so that rows of a table stand aligned.
  std::string Flush();
  // The rest, and the end of the document.
  std::string Finish();

  // How many keys were added.
  uint64_t count() const { return count_; }

 private:
  std::string AddRow(std::string_view key, const v1::MovedRange& moved);
  std::string AddObject(std::string_view key, const v1::MovedRange& moved);
  std::string Beginning() const;

  const GlobalOptions& options_;
  const v1::DiffVersionsResponse& diff_;
  Rows rows_{{"KEY", "FROM", "TO"}, {}};
  bool began_ = false;
  uint64_t count_ = 0;
};

}  // namespace ringd::ctl
