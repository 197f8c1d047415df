// CertificateKeeper: the certificates that new connections are served with. It looks at their files every now and then,
// and takes what is in them only once it is whole and good; until then the last good ones stay.
//
// Threads: any; the lock is held to copy a pointer, and another one while files are read.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ring/mutex.h"
#include "server/certificates.h"

namespace ringd::server {

// Good certificates; immutable.
struct ServedCertificates {
  PemTexts texts;
  CertificateFacts facts;
};

class CertificateKeeper {
 public:
  using Clock = std::function<absl::Time()>;

  // FAILED_PRECONDITION, as certificates.h says, when those that are there now are not good.
  static absl::StatusOr<std::unique_ptr<CertificateKeeper>> Load(const CertificateFiles& files, Clock clock);
  // Stops looking.
  ~CertificateKeeper();

  // Looks from now on every `period`, on a thread of its own.
  void Start(std::chrono::milliseconds period);

  // Looks now. What is new and good is served to the connections that come after; what is not is told to the log, once
  // for each reason, and counted.
  void Look();
  // The same, in other files from now on, and what is wrong is told once more. Answers whether nothing is.
  bool Look(const CertificateFiles& files);

  // Never null.
  std::shared_ptr<const ServedCertificates> served() const;
  // How often files were refused.
  uint64_t refused() const { return refused_; }

 private:
  CertificateKeeper(const CertificateFiles& files, Clock clock) : clock_(std::move(clock)), files_(files) {}

  absl::StatusOr<ServedCertificates> Read() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(looking_);
  void LookLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(looking_);
  void Publish(ServedCertificates certificates) ABSL_EXCLUSIVE_LOCKS_REQUIRED(looking_);

  const Clock clock_;
  std::atomic<uint64_t> refused_ = 0;

  Mutex looking_;
  CertificateFiles files_ ABSL_GUARDED_BY(looking_);
  std::string told_ ABSL_GUARDED_BY(looking_);  // why the files were refused the last time; empty = they were not

  mutable Mutex mutex_;
  CondVar stop_wanted_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::shared_ptr<const ServedCertificates> served_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace ringd::server
