#include "client/ringctl/security.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <utility>

#include "client/ringctl/escape.h"
#include "client/ringctl/tcp_connection.h"

namespace ringd::ctl {
namespace {

using SslPtr = std::unique_ptr<SSL, decltype(&SSL_free)>;

// The newest error of OpenSSL in this thread, and none any more.
std::string OpensslError() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason == nullptr ? "unknown error" : reason;
}

// Host and port of HOST:PORT or [V6]:PORT.
std::pair<std::string, std::string> Split(const std::string& endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  std::string host = endpoint.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return {host, endpoint.substr(colon + 1)};
}

// A handshake over an open connection, HTTP/2 offered.
SslPtr Handshake(SSL_CTX* context, const TcpConnection& connection, int* result) {
  static constexpr unsigned char kHttp2[] = {2, 'h', '2'};
  SslPtr ssl(SSL_new(context), SSL_free);
  SSL_set_fd(ssl.get(), connection.socket());
  SSL_set_alpn_protos(ssl.get(), kHttp2, sizeof(kHttp2));
  *result = SSL_connect(ssl.get());
  return ssl;
}

using ContextPtr = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;

// What to shake hands with. Files that cannot be used are not in it: Credentials says what is wrong with them.
ContextPtr ContextOf(const std::optional<TlsFiles>& files) {
  ContextPtr context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  if (!files.has_value()) return context;
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_load_verify_locations(context.get(), files->ca_file.c_str(), nullptr);
  if (!files->cert_file.empty()) {
    SSL_CTX_use_certificate_chain_file(context.get(), files->cert_file.c_str());
    SSL_CTX_use_PrivateKey_file(context.get(), files->key_file.c_str(), SSL_FILETYPE_PEM);
  }
  ERR_clear_error();
  return context;
}

}  // namespace

absl::StatusOr<Security> Security::FromFiles(const TlsFiles& files) {
  auto credentials = Credentials::Load(files);
  if (!credentials.ok()) return credentials.status();
  Security security;
  security.files_ = files;
  security.credentials_ = *std::move(credentials);
  return security;
}

std::shared_ptr<grpc::ChannelCredentials> Security::credentials() const {
  if (credentials_ == nullptr) return grpc::InsecureChannelCredentials();
  credentials_->Renew();
  return credentials_->current();
}

std::string Security::WhyRefused(const std::string& endpoint, std::chrono::milliseconds patience) const {
  if (endpoint.starts_with("unix:")) return "";
  if (credentials_ != nullptr) {
    if (const absl::Status problem = credentials_->problem(); !problem.ok()) return std::string(problem.message());
  }
  const auto [host, port] = Split(endpoint);
  const TcpConnection connection(host, port, patience);
  if (connection.socket() < 0) return "";
  int result = 0;
  const ContextPtr context = ContextOf(files_);
  const SslPtr ssl = Handshake(context.get(), connection, &result);
  if (!files_.has_value()) return result == 1 ? "it speaks TLS, and --cacert, --cert and --key are not given" : "";
  if (result != 1) {
    const int64_t verified = SSL_get_verify_result(ssl.get());
    if (verified != X509_V_OK) {
      return fmt::format("its certificate is not to be trusted: {}", X509_verify_cert_error_string(verified));
    }
    if (SSL_get_error(ssl.get(), result) != SSL_ERROR_SSL) return "";
    const int reason = ERR_GET_REASON(ERR_peek_last_error());
    if (reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) return "";  // it has no room, or stops
    if (reason == SSL_R_WRONG_VERSION_NUMBER) return "it does not speak TLS, and --cacert asks for it";
    return fmt::format("no TLS with it: {}", OpensslError());
  }
  X509* shown = SSL_get0_peer_certificate(ssl.get());
  if (X509_check_ip_asc(shown, host.c_str(), 0) != 1 &&
      X509_check_host(shown, host.data(), host.size(), 0, nullptr) != 1) {
    return fmt::format("its certificate is not for {}", Quoted(host));
  }
  const unsigned char* protocol = nullptr;
  unsigned length = 0;
  SSL_get0_alpn_selected(ssl.get(), &protocol, &length);
  if (length == 0) return "it does not speak HTTP/2";
  // A server that does not like our certificate says so after the handshake; one that does speaks HTTP/2.
  char first = 0;
  const int read = SSL_read(ssl.get(), &first, 1);
  if (read > 0 || SSL_get_error(ssl.get(), read) != SSL_ERROR_SSL) return "";
  return files_->cert_file.empty() ? "it wants a certificate: --cert and --key are not given"
                                   : "it does not take the certificate of --cert";
}

}  // namespace ringd::ctl
