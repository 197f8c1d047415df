#include "client/ringctl/nginx_statement.h"

#include <fmt/format.h>

#include <utility>

#include "client/ringctl/escape.h"
#include "client/ringctl/imported_ring.h"

namespace ringd::ctl {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// What a backslash and this character stand for.
std::string Unescaped(char c) {
  switch (c) {
    case 't':
      return "\t";
    case 'r':
      return "\r";
    case 'n':
      return "\n";
    case '"':
    case '\'':
    case '\\':
      return {c};
    default:
      return {'\\', c};
  }
}

}  // namespace

NginxStatements::NginxStatements(std::string file, std::string_view content) : file_(std::move(file)), rest_(content) {}

char NginxStatements::Take() {
  const char c = rest_.front();
  rest_.remove_prefix(1);
  if (c == '\n') ++line_;
  return c;
}

void NginxStatements::SkipBlanksAndComments() {
  while (!rest_.empty() && (IsBlank(rest_.front()) || rest_.front() == '#')) {
    if (Take() != '#') continue;
    while (!rest_.empty() && rest_.front() != '\n') Take();
  }
}

std::string NginxStatements::TakeWord() {
  std::string word;
  while (!rest_.empty()) {
    const char next = rest_.front();
    const bool variable = next == '{' && word.ends_with('$');
    if (IsBlank(next) || next == ';' || (next == '{' && !variable)) break;
    Take();
    if (next == '\\' && !rest_.empty()) {
      word += Unescaped(Take());
    } else {
      word += next;
    }
  }
  return word;
}

absl::StatusOr<std::string> NginxStatements::TakeQuoted() {
  const int begin = line_;
  const char quote = Take();
  std::string word;
  while (!rest_.empty()) {
    const char next = Take();
    if (next == quote) return word;
    if (next == '\\' && !rest_.empty()) {
      word += Unescaped(Take());
    } else {
      word += next;
    }
  }
  return WrongLine(file_, begin, "a quote is not closed");
}

absl::StatusOr<NginxStatement> NginxStatements::Next() {
  using End = NginxStatement::End;
  NginxStatement statement;
  while (true) {
    SkipBlanksAndComments();
    if (statement.words.empty()) statement.line = line_;
    const char next = rest_.empty() ? '\0' : rest_.front();
    if (rest_.empty() || next == '}') {
      if (!statement.words.empty()) {
        return WrongLine(file_, statement.line, fmt::format("{} is not ended by `;`", Quoted(statement.words.back())));
      }
      statement.end = rest_.empty() ? End::kFile : End::kCloses;
      if (!rest_.empty()) Take();
      return statement;
    }
    if (next == ';' || next == '{') {
      if (statement.words.empty()) return WrongLine(file_, line_, fmt::format("nothing stands before `{}`", next));
      statement.end = next == ';' ? End::kSemicolon : End::kOpens;
      Take();
      return statement;
    }
    if (next == '"' || next == '\'') {
      absl::StatusOr<std::string> word = TakeQuoted();
      if (!word.ok()) return word.status();
      statement.words.push_back(*std::move(word));
      if (!rest_.empty() && std::string_view(" \t\r\n;{").find(rest_.front()) == std::string_view::npos) {
        return WrongLine(file_, line_,
                         fmt::format("{} is not apart from what follows its quote", Quoted(statement.words.back())));
      }
    } else {
      statement.words.push_back(TakeWord());
    }
  }
}

}  // namespace ringd::ctl
