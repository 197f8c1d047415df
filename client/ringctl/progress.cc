#include "client/ringctl/progress.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "ring/utf8.h"

namespace ringd::ctl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kFirstAfter{1000};
constexpr std::chrono::milliseconds kPause{200};

std::optional<Clock::time_point> next;  // when there may be a line; nothing = not asked for yet
bool shown = false;

std::string_view Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool IsWanted(const GlobalOptions& options) {
  return !options.quiet && isatty(STDERR_FILENO) != 0 && isatty(STDOUT_FILENO) == 0 && Variable("TERM") != "dumb" &&
         Variable("NO_COLOR").empty();
}

}  // namespace

void ShowProgress(const GlobalOptions& options, const std::string& text) {
  const auto now = Clock::now();
  if (!next) next = IsWanted(options) ? now + kFirstAfter : Clock::time_point::max();
  if (now < *next) return;
  next = now + kPause;
  shown = true;
  const std::string line = "\r" + ring::Shown(text) + "\x1B[K";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void ClearProgress() {
  if (!shown) return;
  shown = false;
  std::fputs("\r\x1B[K", stderr);
}

}  // namespace ringd::ctl
