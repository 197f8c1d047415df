#include "client/local/copy_driver.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <variant>

#include "client/local/copy_file.h"
#include "client/local/ring_copy.h"
#include "client/retry.h"
#include "proto/codec.h"
#include "proto/status_codec.h"
#include "ring/error.h"

namespace ringd {
namespace {

// How long a directory may say nothing before the next one is asked as well.
constexpr std::chrono::milliseconds kHedgeAfter{1'000};

WatchMachine::Policy PolicyOf(const LocalRingOptions& options) {
  WatchMachine::Policy policy{.silence = LocalRing::kSilence};
  if (options.directory.endpoints.size() > 1) policy.hedge_after = kHedgeAfter;
  return policy;
}

// Host, process and a number: what an operator looks for.
std::string NewWatcherName() {
  static std::atomic<uint64_t> last = 0;
  std::array<char, 200> host{};
  (void)gethostname(host.data(), host.size() - 1);
  return std::string(host.data()) + "/" + std::to_string(getpid()) + "/" + std::to_string(++last);
}

LocalRingState ToState(WatchMachine::State state) {
  switch (state) {
    case WatchMachine::State::kConnecting:
      return LocalRingState::kConnecting;
    case WatchMachine::State::kResyncing:
      return LocalRingState::kResyncing;
    case WatchMachine::State::kInSync:
      return LocalRingState::kInSync;
    case WatchMachine::State::kAbsent:
      return LocalRingState::kAbsent;
    case WatchMachine::State::kDistrusted:
      break;
  }
  return LocalRingState::kDistrusted;
}

LocalRingStatus StatusOf(const WatchMachine& machine) {
  const WatchMachine::Counts& counts = machine.counts();
  LocalRingStatus status{.state = ToState(machine.state()),
                         .problem = machine.problem(),
                         .streams = counts.streams,
                         .snapshots = counts.snapshots,
                         .changes = counts.changes,
                         .rewound = counts.rewound,
                         .checksum_mismatches = counts.checksum_mismatches,
                         .broken_order = counts.broken_order};
  if (const HeldRingPtr& held = machine.held(); held != nullptr) {
    status.version = {.epoch = held->version.epoch, .revision = held->version.revision};
  }
  return status;
}

void SetHeld(const std::string& ring, const HeldRing& held, v1::HeldRing* out) {
  out->set_ring(ring);
  ToProto(held.version, out->mutable_position()->mutable_version());
  ToProto(held.ring.checksum(), out->mutable_position()->mutable_checksum());
}

ReportSchedule::Outcome OutcomeOf(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::OK:
      return ReportSchedule::Outcome::kTold;
    case grpc::StatusCode::UNIMPLEMENTED:
    case grpc::StatusCode::PERMISSION_DENIED:
      return ReportSchedule::Outcome::kNotTaken;
    default:
      return ReportSchedule::Outcome::kFailed;
  }
}

}  // namespace

CopyDriver::CopyDriver(std::string_view ring, LocalRingOptions options, std::shared_ptr<Credentials> credentials)
    : ring_(ring),
      options_(std::move(options)),
      watcher_(options_.watcher.empty() ? NewWatcherName() : options_.watcher),
      credentials_(std::move(credentials)),
      machine_(PolicyOf(options_), SystemRandom(), Clock::now()),
      reports_(SystemRandom()),
      saves_(SystemRandom(), options_.saved_max_age),
      restored_(options_.save_to.empty()) {
  Publish();
}

void CopyDriver::Start() {
  JoinForks();
  calls_ = std::make_shared<DirectoryCalls>([weak = weak_from_this()] {
    if (const auto driver = weak.lock(); driver != nullptr) RunLoop::OfProcess().Wake(driver);
  });
  RunLoop::OfProcess().Wake(shared_from_this());
}

void CopyDriver::Stop() {
  stopped_ = true;
  calls_->Stop();
  RunLoop::OfProcess().Remove(shared_from_this());
  LeaveForks();
  calls_->AwaitEnd();
  SaveAtEnd();
}

LocalRingLookups CopyDriver::lookups() const {
  const std::shared_ptr<const RingCopy> copy = SharedView()->copy;
  LookupCounts::Sums sums = counts_->Read(copy == nullptr ? LookupCounts::OfNodes() : *copy->parts().counts);
  return {.ring = sums.ring, .copy = copy, .nodes = std::move(sums.nodes)};
}

absl::Status CopyDriver::WaitReady(std::chrono::milliseconds timeout) const {
  const auto until = Clock::now() + timeout;
  const bool waits = !forked();
  const MutexLock lock(mutex_);
  while (status_.version == Version() && status_.state != LocalRingState::kDistrusted) {
    if (!waits || Clock::now() >= until) return status_.problem;
    published_.WaitUntil(mutex_, until);
  }
  return absl::OkStatus();
}

LocalRingStatus CopyDriver::status() const {
  const bool forked = this->forked();
  if (!forked) credentials_->Renew();
  const absl::Status tls_problem = forked ? absl::OkStatus() : credentials_->problem();
  const MutexLock lock(mutex_);
  LocalRingStatus status = status_;
  status.tls_problem = tls_problem;
  status.save_problem = save_problem_;
  status.called_lookups = called_lookups_.load(std::memory_order_relaxed);
  if (current_at_ != Clock::time_point::min()) {
    status.age = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - current_at_);
  }
  if (forked) {
    status.state = LocalRingState::kForked;
    status.problem =
        absl::UnavailableError("this process was forked after the copy was made, and nothing follows here");
  }
  return status;
}

CopyDriver::Clock::time_point CopyDriver::Run() {
  if (!std::exchange(restored_, true)) Restore();
  while (!stopped_) {
    if (auto message = calls_->Next(); message.has_value()) {
      Take(*std::move(message));
    } else if (Clock::now() >= machine_.wake_at()) {
      machine_.Woken(Clock::now());
    } else {
      return std::min({machine_.wake_at(), Report(), SaveIfDue()});
    }
    Follow();
    Publish();
  }
  return Clock::time_point::max();
}

void CopyDriver::Take(DirectoryCalls::Message message) {
  const auto now = Clock::now();
  if (auto* said = std::get_if<DirectoryCalls::Said>(&message)) {
    machine_.Received(said->id, std::move(said->event), now);
  } else if (const auto* ended = std::get_if<DirectoryCalls::Ended>(&message)) {
    machine_.Ended(ended->id, FromGrpc(Understood(ended->status)), now);
  } else {
    reports_.Answered(OutcomeOf(std::get<DirectoryCalls::Reported>(message).status), now);
  }
}

void CopyDriver::Follow() {
  calls_->Keep([this](WatchMachine::StreamId id) { return machine_.Wants(id); });
  for (const WatchMachine::StreamId id : machine_.wanted()) {
    if (!calls_->IsOpen(id)) Open(id);
  }
}

void CopyDriver::Open(WatchMachine::StreamId id) {
  v1::WatchRequest request;
  request.mutable_selector()->mutable_names()->add_rings(ring_);
  request.set_watcher(watcher_);
  if (const HeldRingPtr& held = machine_.position(); held != nullptr) SetHeld(ring_, *held, request.add_held());
  credentials_->Renew();
  const std::vector<std::string>& endpoints = options_.directory.endpoints;
  const std::optional<TlsFiles>& tls = options_.directory.tls;
  // Each is at another endpoint than the one before it, which has failed, is silent, or is to be left.
  calls_->Watch(id, std::move(request),
                ChannelPool::OfProcess().Take({.endpoint = endpoints[opened_++ % endpoints.size()],
                                               .credentials = credentials_->current(),
                                               .server_name = tls.has_value() ? tls->server_name : ""}));
}

CopyDriver::Clock::time_point CopyDriver::Report() {
  const auto now = Clock::now();
  if (machine_.state() == WatchMachine::State::kInSync) {
    reports_.InSync(machine_.wanted().front(), machine_.held()->version, now);
  } else {
    reports_.OutOfSync();
  }
  if (now < reports_.due()) return reports_.due();
  v1::ReportWatchRequest request;
  request.set_watcher(watcher_);
  SetHeld(ring_, *machine_.held(), request.add_applied());
  const auto ago = std::min<Clock::duration>(now - reports_.applied_at(), std::chrono::hours(1));
  request.mutable_ago()->set_seconds(ago / std::chrono::seconds(1));
  request.mutable_ago()->set_nanos(static_cast<int32_t>(ago % std::chrono::seconds(1) / std::chrono::nanoseconds(1)));
  calls_->Report(machine_.wanted().front(), std::move(request));
  reports_.Sent();
  return Clock::time_point::max();
}

void CopyDriver::Restore() {
  const auto now = std::chrono::system_clock::now();
  absl::StatusOr<SavedCopy> saved =
      LoadCopy(options_.save_to, {.ring = ring_, .now = now, .max_age = options_.saved_max_age});
  if (!saved.ok()) {
    if (!absl::IsNotFound(saved.status())) SetSaveProblem(saved.status());
    return;
  }
  const auto age = std::max(now - saved->current_at, std::chrono::system_clock::duration::zero());
  machine_.Restore(std::move(saved->held), Clock::now() - age);
  Publish();
}

CopyDriver::Clock::time_point CopyDriver::SaveIfDue() {
  if (options_.save_to.empty()) return Clock::time_point::max();
  if (machine_.state() == WatchMachine::State::kAbsent) RemoveSaved();
  if (!IsWorthSaving()) return Clock::time_point::max();
  const auto due = saves_.DueOf(machine_.held()->version, Clock::now());
  if (Clock::now() < due) return due;
  Save();
  return IsWorthSaving() ? saves_.DueOf(machine_.held()->version, Clock::now()) : Clock::time_point::max();
}

void CopyDriver::SaveAtEnd() {
  if (options_.save_to.empty()) return;
  if (machine_.state() == WatchMachine::State::kAbsent) RemoveSaved();
  if (IsWorthSaving() && machine_.held()->version != saves_.saved()) Save();
}

bool CopyDriver::IsWorthSaving() const {
  if (machine_.state() == WatchMachine::State::kInSync) return true;
  // Without the directory, what has come of it and was not saved yet is worth the most. It is as old as it was when the
  // copy was in sync last, or younger.
  const WatchMachine::Counts& counts = machine_.counts();
  return machine_.held() != nullptr && machine_.held()->version != saves_.saved() &&
         counts.snapshots + counts.changes > 0 && machine_.current_at() != Clock::time_point::min();
}

void CopyDriver::RemoveSaved() {
  std::error_code error;
  std::filesystem::remove(options_.save_to, error);
  saves_.Removed();
  if (error) SetSaveProblem(absl::ErrnoToStatus(error.value(), "the saved copy of a deleted ring cannot be removed"));
}

void CopyDriver::Save() {
  const auto age = Clock::now() - machine_.current_at();
  const auto current_at =
      std::chrono::system_clock::now() - std::chrono::duration_cast<std::chrono::system_clock::duration>(age);
  absl::Status saved = SaveCopy(options_.save_to, ring_, {.held = machine_.held(), .current_at = current_at});
  saves_.Tried(saved.ok() ? machine_.held()->version : ring::Version(), Clock::now());
  SetSaveProblem(std::move(saved));
}

void CopyDriver::SetSaveProblem(absl::Status problem) {
  const MutexLock lock(mutex_);
  save_problem_ = std::move(problem);
}

void CopyDriver::Publish() {
  LocalRingStatus status = StatusOf(machine_);
  if (status.state == LocalRingState::kAbsent) {
    status.problem = ring::Error(absl::StatusCode::kNotFound, "RING_NOT_FOUND",
                                 "ring " + ring::Quote(ring_) + " does not exist; the copy waits for it");
  }
  const std::shared_ptr<const LookupView> before = view_.Share();
  const bool has_new_copy = machine_.held() != shown_;
  const bool changed = has_new_copy || status.state != before->state;
  std::shared_ptr<const RingCopy> copy = before->copy;
  if (changed || status.problem != before->problem) {
    if (has_new_copy) copy = machine_.held() == nullptr ? nullptr : MakeCopy(machine_.held(), before->copy.get());
    view_.Set(std::make_shared<LookupView>(
        LookupView{.state = status.state, .problem = status.problem, .copy = copy, .counts = counts_}));
    shown_ = machine_.held();
  }
  {
    const MutexLock lock(mutex_);
    status_ = std::move(status);
    current_at_ = machine_.current_at();
  }
  published_.NotifyAll();
  if (has_new_copy && options_.on_copy) options_.on_copy(before->copy, copy);
  if (changed && options_.on_change && !stopped_) options_.on_change(this->status());
}

void CopyDriver::LockForFork() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  mutex_.Lock();
  view_.LockForFork();
  counts_->LockForFork();
}

void CopyDriver::UnlockAfterFork() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  counts_->UnlockAfterFork();
  view_.UnlockAfterFork();
  mutex_.Unlock();
}

}  // namespace ringd
