#include <absl/cleanup/cleanup.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include "client/ringctl/commands.h"
#include "client/ringctl/escape.h"
#include "client/ringctl/failure.h"
#include "client/ringctl/key_reader.h"
#include "client/ringctl/moved_keys.h"
#include "client/ringctl/moved_output.h"
#include "client/ringctl/progress.h"
#include "client/ringctl/ring_pages.h"
#include "client/ringctl/standard_output.h"
#include "client/ringctl/version_text.h"

namespace ringd::ctl {
namespace {

// Keys between two looks at the clock.
constexpr uint64_t kBlock = 1'000;

// What moved, with the placement of the ring; not kOk, when it has told why it cannot. The two are asked for one after
// the other.
ExitCode ReadMovedKeys(Session& session, const ComparedVersions& versions, std::optional<MovedKeys>* keys) {
  v1::GetRingRequest request;
  request.set_ring(versions.ring);
  request.set_page_size(1);
  const Answer<v1::GetRingResponse> ring = session.connection.Call(&v1::Directory::Stub::GetRing, request);
  if (!ring.status.ok()) return ReportStatus(ring.status);
  Answer<v1::DiffVersionsResponse> diff = ReadDiff(session.connection, versions);
  if (!diff.status.ok()) return ReportStatus(diff.status);
  // A ring that was deleted and made anew in between may have another placement.
  if (ring.value.version().epoch() != diff.value.from().epoch()) {
    return ReportStatus(
        {grpc::StatusCode::ABORTED, fmt::format("ring {} was made anew while it was read", Quoted(versions.ring))});
  }
  absl::StatusOr<MovedKeys> made = MovedKeys::Make(ring.value.ring().placement(), std::move(diff.value));
  if (!made.ok()) return ReportError(ExitCode::kRefused, std::string(made.status().message()));
  *keys = *std::move(made);
  return ExitCode::kOk;
}

ExitCode CannotRead(const std::string& file) {
  const std::string shown = file == "-" ? "standard input" : Quoted(file);
  return ReportError(ExitCode::kUsage,
                     fmt::format("cannot read {}: {}", shown, std::generic_category().message(errno)));
}

// A key that nobody can own.
ExitCode ReportKey(uint64_t line, std::string_view why) {
  return ReportError(ExitCode::kRefused, fmt::format("line {}: {} (INVALID_ARGUMENT)", line, why));
}

ExitCode PrintMoved(const MovedOptions& options, int fd, const MovedKeys& keys, const GlobalOptions& global,
                    MovedOutput* output, uint64_t* keys_read) {
  KeyReader reader(fd, options.null_separated ? '\0' : '\n');
  bool waiting = false;  // all that was read is in the output
  for (uint64_t line = 1;;) {
    switch (reader.Next(waiting ? KeyReader::WhenIdle::kWait : KeyReader::WhenIdle::kReturn)) {
      case KeyReader::Event::kKey:
        break;
      case KeyReader::Event::kIdle:
        Print(output->Flush());
        if (!FlushOutput()) return ExitCode::kRefused;
        waiting = true;
        continue;
      case KeyReader::Event::kEnd:
        return ExitCode::kOk;
      case KeyReader::Event::kTooLong:
        return ReportKey(line, fmt::format("a key of more than {} bytes is none", KeyReader::kLongestKey));
      case KeyReader::Event::kFailed:
        return CannotRead(options.file);
    }
    waiting = false;
    const std::string_view key = reader.key();
    if (key.empty()) return ReportKey(line, "key is empty");
    if (!keys.CanPlace(key)) {
      return ReportKey(line, fmt::format("key {} is no UTF-8, which the ring's hash reads", Quoted(key)));
    }
    if (const v1::MovedRange* moved = keys.Find(key); moved != nullptr) Print(output->Add(key, *moved));
    *keys_read = line;
    if (line++ % kBlock != 0) continue;
    ShowProgress(global, fmt::format("{} keys read, {} moved", line - 1, output->count()));
    if (!FlushOutput()) return ExitCode::kRefused;
  }
}

}  // namespace

ExitCode Moved(Session& session, const MovedOptions& options) {
  const int fd = options.file == "-" ? STDIN_FILENO : open(options.file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return CannotRead(options.file);
  const absl::Cleanup close_file = [fd] {
    if (fd != STDIN_FILENO) close(fd);
  };
  std::optional<MovedKeys> keys;
  ExitCode code = ReadMovedKeys(session, options.versions, &keys);
  if (code != ExitCode::kOk) return code;
  MovedOutput output(session.options, keys->diff());
  uint64_t keys_read = 0;
  code = PrintMoved(options, fd, *keys, session.options, &output, &keys_read);
  Print(output.Finish());
  if (code == ExitCode::kOk && FlushOutput() && !session.options.quiet) {
    Notice(fmt::format("{} of {} keys moved, {} -> {}", output.count(), keys_read, VersionText(keys->diff().from()),
                       VersionText(keys->diff().to())));
  }
  return code;
}

}  // namespace ringd::ctl
