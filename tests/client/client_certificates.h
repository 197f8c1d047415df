// A CA and a client's pair in files, to be renewed and spoilt.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/time/clock.h"
#include "ringd/client.h"
#include "tests/server/test_certificates.h"

namespace ringd {

using server::TestCertificate;

class ClientCertificates {
 public:
  explicit ClientCertificates(absl::Time now = absl::Now()) : now_(now) { Renew("one"); }
  ~ClientCertificates() { std::filesystem::remove_all(folder_); }
  ClientCertificates(const ClientCertificates&) = delete;

  // What the CA issues to somebody of that name.
  TestCertificate Issue(const std::string& name) const { return TestCertificate(WantedOf(name)); }
  TestCertificate Expired() const {
    TestCertificate::Wanted wanted = WantedOf("expired");
    wanted.not_after = now_ - absl::Hours(1);
    return TestCertificate(wanted);
  }
  std::string ca() const { return ca_.Pem(); }

  // The pair becomes another one, of that name.
  void Renew(const std::string& name) { Write(Issue(name)); }
  void Write(const TestCertificate& certificate) {
    Write(files_.cert_file, certificate.Pem());
    Write(files_.key_file, certificate.KeyPem());
    Write(files_.ca_file, ca_.Pem());
  }
  static void Write(const std::string& file, const std::string& text) { std::ofstream(file) << text; }

  const TlsFiles& files() const { return files_; }

 private:
  static std::string NewFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "ringd-client-XXXXXX";
    return mkdtemp(pattern.data());
  }
  TestCertificate::Wanted WantedOf(const std::string& name) const {
    return {.name = name, .not_before = now_ - absl::Hours(2), .not_after = now_ + absl::Hours(24), .issuer = &ca_};
  }

  const absl::Time now_;
  const std::string folder_ = NewFolder();
  const TlsFiles files_{.ca_file = folder_ + "/ca.pem",
                        .cert_file = folder_ + "/cert.pem",
                        .key_file = folder_ + "/key.pem",
                        .server_name = "server"};
  const TestCertificate ca_{
      {.name = "ca", .not_before = now_ - absl::Hours(2), .not_after = now_ + absl::Hours(24), .is_ca = true}};
};

}  // namespace ringd
