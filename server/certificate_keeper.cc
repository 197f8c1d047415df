#include "server/certificate_keeper.h"

#include <utility>

#include "spdlog/spdlog.h"

namespace ringd::server {

absl::StatusOr<std::unique_ptr<CertificateKeeper>> CertificateKeeper::Load(const CertificateFiles& files, Clock clock) {
  std::unique_ptr<CertificateKeeper> keeper(new CertificateKeeper(files, std::move(clock)));
  MutexLock lock(keeper->looking_);
  auto certificates = keeper->Read();
  if (!certificates.ok()) return certificates.status();
  keeper->Publish(*std::move(certificates));
  return keeper;
}

CertificateKeeper::~CertificateKeeper() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    stop_wanted_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void CertificateKeeper::Start(std::chrono::milliseconds period) {
  thread_ = std::thread([this, period] {
    while (true) {
      const auto next = std::chrono::steady_clock::now() + period;
      {
        MutexLock lock(mutex_);
        while (!stopping_ && std::chrono::steady_clock::now() < next) stop_wanted_.WaitUntil(mutex_, next);
        if (stopping_) return;
      }
      Look();
    }
  });
}

void CertificateKeeper::Look() {
  MutexLock lock(looking_);
  LookLocked();
}

bool CertificateKeeper::Look(const CertificateFiles& files) {
  MutexLock lock(looking_);
  files_ = files;
  told_.clear();
  LookLocked();
  return told_.empty();
}

std::shared_ptr<const ServedCertificates> CertificateKeeper::served() const {
  MutexLock lock(mutex_);
  return served_;
}

absl::StatusOr<ServedCertificates> CertificateKeeper::Read() const {
  auto texts = ReadPemFiles(files_);
  if (!texts.ok()) return texts.status();
  auto facts = CheckPem(*texts, files_, clock_());
  if (!facts.ok()) return facts.status();
  return ServedCertificates{*std::move(texts), *std::move(facts)};
}

void CertificateKeeper::LookLocked() {
  auto certificates = Read();
  if (certificates.ok()) {
    if (certificates->texts != served()->texts) {
      Publish(*std::move(certificates));
    } else if (!told_.empty()) {
      spdlog::info("TLS: the files hold the certificate that is served again");
    }
    told_.clear();
    return;
  }
  const std::string why(certificates.status().message());
  if (why == told_) return;
  told_ = why;
  refused_++;
  spdlog::error("TLS: {}; new connections get the certificate from before", why);
}

void CertificateKeeper::Publish(ServedCertificates certificates) {
  const CertificateFacts& facts = certificates.facts;
  spdlog::info("TLS: serving the certificate \"{}\", subject {}, serial {}, valid until {}", files_.certificate,
               facts.subject, facts.serial,
               absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", facts.not_after, absl::UTCTimeZone()));
  auto served = std::make_shared<const ServedCertificates>(std::move(certificates));
  MutexLock lock(mutex_);
  served_ = std::move(served);
}

}  // namespace ringd::server
