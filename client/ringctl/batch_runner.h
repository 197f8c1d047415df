#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "client/ringctl/exit_code.h"
#include "client/ringctl/session.h"

namespace ringd::ctl {

// BatchRunner asks for the owners of many keys: it sends batches, some at a time, and hands out their answers in order.
// A batch that is refused is cut in two until the key to blame stands alone, so that the keys before it are answered.
// After a method has answered something else than kOk, which has been reported, none may be called. One thread only.
class BatchRunner {
 public:
  // What is done with an answer, which fits its request. Something else than kOk ends the work.
  using UseAnswer = std::function<ExitCode(const v1::BatchLookupRequest&, const v1::BatchLookupResponse&)>;

  // `key_word` is what a number in an error counts: "line" or "key". `session` must outlive this.
  BatchRunner(Session& session, std::string key_word, UseAnswer use);
  ~BatchRunner();

  ExitCode Send(v1::BatchLookupRequest request);
  // Drain waits for all answers that are under way.
  ExitCode Drain();

  uint64_t keys_answered() const { return keys_answered_; }

 private:
  struct Flight;

  ExitCode Collect();
  ExitCode Resolve(const v1::BatchLookupRequest& request, uint64_t first_key, const grpc::Status& refused);
  ExitCode TakeAnswer(const v1::BatchLookupRequest& request, const v1::BatchLookupResponse& response);

  Session& session_;
  const std::string key_word_;
  const UseAnswer use_;
  std::deque<std::unique_ptr<Flight>> flights_;
  uint64_t keys_sent_ = 0;
  uint64_t keys_answered_ = 0;
  std::optional<v1::Version> version_;
  bool told_versions_ = false;
  bool told_short_ = false;
};

// LineInput is where lines with keys come from.
struct LineInput {
  int fd;
  char separator;    // what ends a line
  std::string name;  // as errors show it, such as "standard input"
  // The key of a line, good until the next call. Not OK: the line is wrong, and the text says why.
  std::function<absl::StatusOr<std::string_view>(std::string_view line)> key_of;
};

// SendLines sends the keys of all lines in batches that begin as copies of `prototype`, while it reads, in constant
// memory; keys that wait for more input are sent at once. Where there is none, a batch without keys is sent, so that
// the server judges the ring. A line that is wrong is reported with its number, kUsage, when those before it are
// answered.
ExitCode SendLines(const LineInput& input, const v1::BatchLookupRequest& prototype, BatchRunner& runner);

}  // namespace ringd::ctl
