#include "client/ringctl/batch_runner.h"

#include <fmt/format.h>

#include <cerrno>
#include <future>
#include <system_error>
#include <utility>

#include "client/ringctl/failure.h"
#include "client/ringctl/key_batcher.h"
#include "client/ringctl/key_reader.h"
#include "client/ringctl/lookup_output.h"
#include "client/ringctl/progress.h"
#include "client/ringctl/version_text.h"
#include "client/wire_check.h"

namespace ringd::ctl {
namespace {

// Batches under way at once: enough to keep the server busy while answers are printed.
constexpr std::size_t kMostFlights = 4;

}  // namespace

// Flight is a batch that was sent and not yet printed. It stays where it is, since the call points into it.
struct BatchRunner::Flight {
  std::shared_ptr<v1::Directory::Stub> stub;
  uint64_t first_key = 0;  // number of its first key, from 1
  v1::BatchLookupRequest request;
  v1::BatchLookupResponse response;
  grpc::ClientContext context;
  std::future<grpc::Status> done;

  ~Flight() {
    if (!done.valid()) return;
    context.TryCancel();
    done.wait();
  }
};

BatchRunner::BatchRunner(Session& session, std::string key_word, UseAnswer use)
    : session_(session), key_word_(std::move(key_word)), use_(std::move(use)) {}

BatchRunner::~BatchRunner() = default;

ExitCode BatchRunner::Send(v1::BatchLookupRequest request) {
  if (flights_.size() >= kMostFlights) {
    const ExitCode code = Collect();
    if (code != ExitCode::kOk) return code;
  }
  const grpc::Status unfit = CheckWire(request);
  if (!unfit.ok()) return ReportStatus(unfit);
  auto reached = session_.connection.Reach();
  if (!reached.status.ok()) {
    const ExitCode code = Drain();
    return code == ExitCode::kOk ? ReportStatus(reached.status) : code;
  }
  Flight& flight = *flights_.emplace_back(std::make_unique<Flight>());
  flight.stub = std::move(reached.value);
  flight.first_key = keys_sent_ + 1;
  flight.request = std::move(request);
  flight.context.set_deadline(session_.connection.NewDeadline());
  keys_sent_ += static_cast<uint64_t>(flight.request.keys_size());
  // The promise belongs to the callback, which may still be in set_value when the flight has ended.
  const auto promise = std::make_shared<std::promise<grpc::Status>>();
  flight.done = promise->get_future();
  flight.stub->async()->BatchLookup(&flight.context, &flight.request, &flight.response,
                                    [promise](grpc::Status status) { promise->set_value(std::move(status)); });
  return ExitCode::kOk;
}

ExitCode BatchRunner::Drain() {
  while (!flights_.empty()) {
    const ExitCode code = Collect();
    if (code != ExitCode::kOk) return code;
  }
  return ExitCode::kOk;
}

// Waits for the oldest batch and hands out its answers.
ExitCode BatchRunner::Collect() {
  const std::unique_ptr<Flight> flight = std::move(flights_.front());
  flights_.pop_front();
  grpc::Status status = Understood(flight->done.get());
  if (MayTryAgain(status)) {
    auto again = session_.connection.Call(&v1::Directory::Stub::BatchLookup, flight->request);
    status = again.status;
    flight->response = std::move(again.value);
  }
  if (status.ok()) return TakeAnswer(flight->request, flight->response);
  const grpc::StatusCode code = status.error_code();
  if (code != grpc::StatusCode::INVALID_ARGUMENT && code != grpc::StatusCode::RESOURCE_EXHAUSTED) {
    return ReportStatus(status);
  }
  // Refused without any key as well: then no key is to blame.
  v1::BatchLookupRequest without_keys = flight->request;
  without_keys.clear_keys();
  const auto probe = session_.connection.Call(&v1::Directory::Stub::BatchLookup, without_keys);
  if (!probe.status.ok()) return ReportStatus(status);
  return Resolve(flight->request, flight->first_key, status);
}

// Cuts a refused batch in two until the key that is to blame stands alone, or until the server takes the pieces, so
// that a server with smaller limits is served as well.
ExitCode BatchRunner::Resolve(const v1::BatchLookupRequest& request, uint64_t first_key, const grpc::Status& refused) {
  if (request.keys_size() == 1) return ReportStatus(refused, fmt::format("{} {}", key_word_, first_key));
  const int middle = request.keys_size() / 2;
  for (const auto& [begin, end] : {std::pair(0, middle), std::pair(middle, request.keys_size())}) {
    v1::BatchLookupRequest part = request;
    part.mutable_keys()->DeleteSubrange(end, request.keys_size() - end);
    part.mutable_keys()->DeleteSubrange(0, begin);
    const auto answer = session_.connection.Call(&v1::Directory::Stub::BatchLookup, part);
    const grpc::StatusCode code = answer.status.error_code();
    const bool key_to_blame =
        code == grpc::StatusCode::INVALID_ARGUMENT || code == grpc::StatusCode::RESOURCE_EXHAUSTED;
    const ExitCode result = answer.status.ok() ? TakeAnswer(part, answer.value)
                            : key_to_blame     ? Resolve(part, first_key + static_cast<uint64_t>(begin), answer.status)
                                               : ReportStatus(answer.status);
    if (result != ExitCode::kOk) return result;
  }
  return ExitCode::kOk;
}

ExitCode BatchRunner::TakeAnswer(const v1::BatchLookupRequest& request, const v1::BatchLookupResponse& response) {
  if (!FitsRequest(request, response)) {
    return ReportStatus({grpc::StatusCode::INTERNAL, "the answer of the server does not fit the keys that were sent"});
  }
  if (!version_) version_ = response.version();
  if (!told_versions_ && !SameVersion(*version_, response.version())) {
    told_versions_ = true;
    Notice(fmt::format("warning: the ring changed meanwhile: first answers are of version {}, later ones of {}",
                       VersionText(*version_), VersionText(response.version())));
  }
  if (response.owners_short() && !std::exchange(told_short_, true) && !session_.options.quiet) {
    Notice(
        fmt::format("note: fewer owners than were asked for ({} a key): the ring has no more nodes of weight > 0, "
                    "or its slots keep no more",
                    response.owners_per_key()));
  }
  keys_answered_ += static_cast<uint64_t>(request.keys_size());
  ShowProgress(session_.options, fmt::format("{} keys answered", keys_answered_));
  return use_(request, response);
}

ExitCode SendLines(const LineInput& input, const v1::BatchLookupRequest& prototype, BatchRunner& runner) {
  KeyReader reader(input.fd, input.separator);
  KeyBatcher batcher(prototype);
  uint64_t lines = 0;
  bool waiting = false;  // all that was read has been answered
  while (true) {
    const auto event = reader.Next(waiting ? KeyReader::WhenIdle::kWait : KeyReader::WhenIdle::kReturn);
    ExitCode code = ExitCode::kOk;
    absl::Status wrong;
    if (event == KeyReader::Event::kKey) {
      ++lines;
      waiting = false;
      const absl::StatusOr<std::string_view> key = input.key_of(reader.key());
      wrong = key.status();
      if (key.ok()) {
        if (!batcher.Fits(*key)) code = runner.Send(batcher.Take());
        batcher.Add(*key);
      }
    }
    if (event != KeyReader::Event::kKey || !wrong.ok()) {
      // An empty input is sent too, so that the server judges the ring.
      if (!batcher.empty() || (event == KeyReader::Event::kEnd && lines == 0)) code = runner.Send(batcher.Take());
      if (code == ExitCode::kOk) code = runner.Drain();
      waiting = true;
    }
    if (code != ExitCode::kOk || event == KeyReader::Event::kEnd) return code;
    if (!wrong.ok()) {
      const std::string why(wrong.message().data(), wrong.message().size());
      return ReportError(ExitCode::kUsage, fmt::format("line {}: {}", lines, why));
    }
    if (event == KeyReader::Event::kTooLong) {
      return ReportError(ExitCode::kRefused, fmt::format("line {}: a key of more than {} bytes cannot be sent "
                                                         "(INVALID_ARGUMENT)",
                                                         lines + 1, KeyReader::kLongestKey));
    }
    if (event == KeyReader::Event::kFailed) {
      return ReportError(ExitCode::kRefused,
                         fmt::format("cannot read {}: {}", input.name, std::generic_category().message(errno)));
    }
  }
}

}  // namespace ringd::ctl
