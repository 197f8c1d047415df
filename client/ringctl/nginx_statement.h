#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <vector>

namespace ringd::ctl {

// NginxStatement is what a `;`, a `{` or a `}` ends in a configuration of nginx.
struct NginxStatement {
  enum class End { kSemicolon, kOpens, kCloses, kFile };

  std::vector<std::string> words;  // without their quotes; none before `}` and the end of the file
  int line = 0;                    // where it begins, from 1
  End end = End::kFile;
};

// NginxStatements reads a configuration statement by statement, as nginx itself does: words stand between blanks, or in
// quotes; a backslash takes the meaning from what follows it; # begins a comment; `{` behind `$` is part of a word.
class NginxStatements {
 public:
  // `content` must outlive this.
  NginxStatements(std::string file, std::string_view content);

  // INVALID_ARGUMENT, with a text that begins with FILE:LINE, for a quote that is not closed, and for a statement that
  // `}` or the end of the file cuts off.
  absl::StatusOr<NginxStatement> Next();

 private:
  char Take();
  void SkipBlanksAndComments();
  std::string TakeWord();
  absl::StatusOr<std::string> TakeQuoted();

  const std::string file_;
  std::string_view rest_;
  int line_ = 1;
};

}  // namespace ringd::ctl
