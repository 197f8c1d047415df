// Credentials: what connections are made with: plaintext, or TLS of files. While it is used, the files are looked at
// again once a second at most. What is new in them is taken once it is whole and good; until then the last good ones
// stay.
//
// Threads: any. A lock is held to copy a pointer, and not while files are read; but Shared has one of its own, as all
// who come at once wait for the one who reads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpcpp/security/credentials.h"
#include "ring/mutex.h"
#include "ringd/client.h"

namespace ringd {

class Credentials {
 public:
  using Clock = std::function<absl::Time()>;

  // Plaintext without files. INVALID_ARGUMENT for a certificate without its key or the other way round,
  // FAILED_PRECONDITION for files that are not good now.
  static absl::StatusOr<std::unique_ptr<Credentials>> Load(const std::optional<TlsFiles>& files,
                                                           Clock clock = absl::Now);

  // Those of all who name the same files, so that many copies read them once. Errors as Load.
  static absl::StatusOr<std::shared_ptr<Credentials>> Shared(const std::optional<TlsFiles>& files);

  // Looks at the files, if that is due. For whoever is about to connect, or asks for problem().
  void Renew();

  // Those to connect with; the same object until there are new ones.
  std::shared_ptr<grpc::ChannelCredentials> current() const;
  // Why what was found in the files the last time is not used; OK = it is.
  absl::Status problem() const;

 private:
  // What the files hold.
  struct Texts {
    std::string ca;
    std::string certificate;
    std::string key;

    bool operator==(const Texts&) const = default;
  };

  Credentials(const std::optional<TlsFiles>& files, Clock clock) : files_(files), clock_(std::move(clock)) {}

  // The number of the look that is due now; nothing = none is.
  std::optional<uint64_t> NextLook();
  absl::StatusOr<Texts> Read() const;
  void Take(uint64_t look, absl::StatusOr<Texts> found);

  const std::optional<TlsFiles> files_;
  const Clock clock_;

  mutable Mutex mutex_;
  absl::Time looked_at_ ABSL_GUARDED_BY(mutex_);
  uint64_t looks_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;  // the latest of them whose outcome is used
  Texts texts_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<grpc::ChannelCredentials> current_ ABSL_GUARDED_BY(mutex_);
  absl::Status problem_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ringd
