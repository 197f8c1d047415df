#include "server/diff_stream.h"

#include <utility>

#include "proto/status_codec.h"

namespace ringd::server {

DiffStream::DiffStream(std::unique_ptr<VersionDiff> diff, RpcCounts& counts, DiffStreams& streams,
                       StillWanted still_wanted)
    : diff_(std::move(diff)), counts_(counts), streams_(streams), still_wanted_(std::move(still_wanted)) {
  counts_.Started();
  WriteNext();
}

void DiffStream::OnWriteDone(bool ok) {
  if (!ok) return End(absl::CancelledError("the stream is broken"));
  WriteNext();
}

void DiffStream::WriteNext() {
  if (absl::Status wanted = still_wanted_(); !wanted.ok()) return End(wanted);
  if (!diff_->Next(&response_)) return End(absl::OkStatus());
  counts_.Sent();
  StartWrite(&response_);
}

void DiffStream::End(const absl::Status& status) {
  diff_.reset();
  const grpc::Status answer = ToGrpc(status);
  counts_.Handled(answer.error_code());
  Finish(answer);
}

}  // namespace ringd::server
