#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <optional>
#include <system_error>
#include <utility>

#include "client/ringctl/batch_runner.h"
#include "client/ringctl/commands.h"
#include "client/ringctl/escape.h"
#include "client/ringctl/expected_owner.h"
#include "client/ringctl/failure.h"
#include "client/ringctl/ring_view.h"
#include "client/ringctl/standard_output.h"
#include "client/ringctl/version_text.h"

namespace ringd::ctl {
namespace {

// Verification compares answers with what was expected, in the order in which the keys were sent.
class Verification {
 public:
  explicit Verification(const GlobalOptions& options) : options_(options) {}

  // The key of a line, good until the next call.
  absl::StatusOr<std::string_view> KeyOf(std::string_view line);
  ExitCode Compare(const v1::BatchLookupRequest& request, const v1::BatchLookupResponse& response);
  // Tells how many keys were compared.
  void PrintSummary(uint64_t compared) const;

  bool differs() const { return different_ > 0; }

 private:
  void PrintDifferences(Rows rows);

  const GlobalOptions& options_;
  std::string key_;
  std::deque<std::string> expected_;  // of the keys that were read and not answered
  uint64_t different_ = 0;
  std::optional<v1::Version> version_;
};

absl::StatusOr<std::string_view> Verification::KeyOf(std::string_view line) {
  absl::StatusOr<ExpectedOwner> expected = ParseExpectedOwner(line);
  if (!expected.ok()) return expected.status();
  key_ = std::move(expected->key);
  expected_.push_back(std::move(expected->owner));
  return key_;
}

ExitCode Verification::Compare(const v1::BatchLookupRequest& request, const v1::BatchLookupResponse& response) {
  version_ = response.version();
  Rows rows;
  rows.headers = {"KEY", "EXPECTED", "OWNER"};
  for (int i = 0; i < request.keys_size(); ++i) {
    const std::string expected = std::move(expected_.front());
    expected_.pop_front();
    const uint32_t index = response.owner_indices(i * static_cast<int>(response.owners_per_key()));
    const std::string& owner = response.nodes(static_cast<int>(index)).id();
    if (owner != expected) rows.cells.push_back({request.keys(i), expected, owner});
  }
  if (!rows.cells.empty()) PrintDifferences(std::move(rows));
  return FlushOutput() ? ExitCode::kOk : ExitCode::kRefused;
}

void Verification::PrintDifferences(Rows rows) {
  const bool headers = different_ == 0 && !options_.no_headers;
  different_ += rows.cells.size();
  Print(options_.format == Format::kTsv ? TsvText(rows) : TableText(rows, headers ? Headers::kShow : Headers::kHide));
}

void Verification::PrintSummary(uint64_t compared) const {
  if (options_.quiet) return;
  const std::string differ = different_ == 0 ? "not one differs" : fmt::format("{} differ", different_);
  const std::string text =
      fmt::format("{} keys compared, {}: version {}", compared, differ, VersionText(version_.value_or(v1::Version())));
  if (options_.format == Format::kTable) {
    Print(text + "\n");
  } else {
    Notice(text);
  }
}

ExitCode VerifyLines(Session& session, const VerifyOptions& options, int fd) {
  Verification verification(session.options);
  BatchRunner runner(session, "line", [&](const auto& request, const auto& response) {
    return verification.Compare(request, response);
  });
  const LineInput input{.fd = fd,
                        .separator = '\n',
                        .name = options.file == "-" ? "standard input" : Quoted(options.file),
                        .key_of = [&](std::string_view line) { return verification.KeyOf(line); }};
  v1::BatchLookupRequest prototype;
  prototype.set_ring(options.ring);
  const ExitCode code = SendLines(input, prototype, runner);
  if (code != ExitCode::kOk) return OfComparison(code);
  if (runner.keys_answered() == 0) {
    return ReportError(ExitCode::kUsage, fmt::format("{} has no lines: nothing was compared", input.name));
  }
  verification.PrintSummary(runner.keys_answered());
  if (!FlushOutput()) return ExitCode::kCannotTell;
  return verification.differs() ? ExitCode::kDiffers : ExitCode::kOk;
}

}  // namespace

ExitCode Verify(Session& session, const VerifyOptions& options) {
  if (options.file == "-") return VerifyLines(session, options, STDIN_FILENO);
  const int fd = open(options.file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return ReportError(ExitCode::kUsage,
                       fmt::format("cannot read {}: {}", Quoted(options.file), std::generic_category().message(errno)));
  }
  const ExitCode code = VerifyLines(session, options, fd);
  close(fd);
  return code;
}

}  // namespace ringd::ctl
