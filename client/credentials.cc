#include "client/credentials.h"

#include <map>
#include <utility>
#include <vector>

#include "proto/certificates.h"

namespace ringd {
namespace {

constexpr absl::Duration kLookEvery = absl::Seconds(1);

Pem CaOf(const TlsFiles& files, std::string_view text = "") { return {"CA", files.ca_file, text}; }
Pem CertificateOf(const TlsFiles& files, std::string_view text = "") { return {"certificate", files.cert_file, text}; }
Pem KeyOf(const TlsFiles& files, std::string_view text = "") { return {"key", files.key_file, text}; }

}  // namespace

absl::StatusOr<std::unique_ptr<Credentials>> Credentials::Load(const std::optional<TlsFiles>& files, Clock clock) {
  if (files.has_value() && files->cert_file.empty() != files->key_file.empty()) {
    return absl::InvalidArgumentError("cert_file and key_file belong together; one of them is missing");
  }
  std::unique_ptr<Credentials> credentials(new Credentials(files, std::move(clock)));
  if (files.has_value()) {
    credentials->Renew();
  } else {
    const MutexLock lock(credentials->mutex_);
    credentials->current_ = grpc::InsecureChannelCredentials();
  }
  if (absl::Status problem = credentials->problem(); !problem.ok()) return problem;
  return credentials;
}

absl::StatusOr<std::shared_ptr<Credentials>> Credentials::Shared(const std::optional<TlsFiles>& files) {
  struct All {
    Mutex mutex;
    std::map<std::vector<std::string>, std::weak_ptr<Credentials>> by_files ABSL_GUARDED_BY(mutex);
  };
  static auto* const all = new All;  // never destroyed: who is destroyed late may still come
  std::vector<std::string> names;
  if (files.has_value()) names = {files->ca_file, files->cert_file, files->key_file};
  const MutexLock lock(all->mutex);
  std::erase_if(all->by_files, [](const auto& entry) { return entry.second.expired(); });
  if (const auto found = all->by_files.find(names); found != all->by_files.end()) {
    // Who held the last one may have let go of it just now.
    if (const std::shared_ptr<Credentials> held = found->second.lock(); held != nullptr) {
      held->Renew();
      if (absl::Status problem = held->problem(); !problem.ok()) return problem;
      return held;
    }
  }
  auto loaded = Load(files);
  if (!loaded.ok()) return loaded.status();
  std::shared_ptr<Credentials> made = *std::move(loaded);
  all->by_files[names] = made;
  return made;
}

void Credentials::Renew() {
  if (!files_.has_value()) return;
  if (const std::optional<uint64_t> look = NextLook(); look.has_value()) Take(*look, Read());
}

std::shared_ptr<grpc::ChannelCredentials> Credentials::current() const {
  const MutexLock lock(mutex_);
  return current_;
}

absl::Status Credentials::problem() const {
  const MutexLock lock(mutex_);
  return problem_;
}

// Whoever finds that it is due looks; the others go on with what there is.
std::optional<uint64_t> Credentials::NextLook() {
  const absl::Time now = clock_();
  const MutexLock lock(mutex_);
  if (current_ != nullptr && looked_at_ <= now && now < looked_at_ + kLookEvery) return std::nullopt;
  looked_at_ = now;
  return ++looks_;
}

absl::StatusOr<Credentials::Texts> Credentials::Read() const {
  Texts texts;
  if (!files_->ca_file.empty()) {
    if (absl::Status status = ReadInto(CaOf(*files_), &texts.ca); !status.ok()) return status;
    if (absl::Status status = CheckAuthorities(CaOf(*files_, texts.ca), clock_()); !status.ok()) return status;
  }
  if (!files_->cert_file.empty()) {
    if (absl::Status status = ReadInto(CertificateOf(*files_), &texts.certificate); !status.ok()) return status;
    if (absl::Status status = ReadInto(KeyOf(*files_), &texts.key); !status.ok()) return status;
    const auto facts = CheckCertificate(CertificateOf(*files_, texts.certificate), KeyOf(*files_, texts.key),
                                        CertificateUse::kClient, clock_());
    if (!facts.ok()) return facts.status();
  }
  return texts;
}

void Credentials::Take(uint64_t look, absl::StatusOr<Texts> found) {
  const MutexLock lock(mutex_);
  if (look < taken_) return;  // it took longer than a later one
  taken_ = look;
  problem_ = found.status();
  if (!found.ok() || (current_ != nullptr && *found == texts_)) return;
  texts_ = *std::move(found);
  current_ = grpc::SslCredentials(
      {.pem_root_certs = texts_.ca, .pem_private_key = texts_.key, .pem_cert_chain = texts_.certificate});
}

}  // namespace ringd
