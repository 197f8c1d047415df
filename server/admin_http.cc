#include "server/admin_http.h"

#include <httplib.h>
#include <sys/socket.h>

#include "fmt/format.h"
#include "ring/error.h"

namespace ringd::server {
namespace {

constexpr char kText[] = "text/plain; charset=utf-8";

void SetHeaders(httplib::Response& response) {
  response.set_header("Cache-Control", "no-store");
  response.set_header("X-Content-Type-Options", "nosniff");
  response.set_header("Content-Security-Policy", "default-src 'none'");
}

}  // namespace

AdminHttp::AdminHttp(const ListenAddress& address) : address_(address), server_(std::make_unique<httplib::Server>()) {
  server_->set_payload_max_length(0);
  server_->set_keep_alive_max_count(1);
  server_->set_read_timeout(1);
  server_->set_write_timeout(1);
  // Without SO_REUSEPORT, which would let two servers share the port in silence.
  server_->set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
  server_->Get("/livez", [](const httplib::Request&, httplib::Response& response) {
    SetHeaders(response);
    response.set_content("ok\n", kText);
  });
  server_->Get("/readyz", [this](const httplib::Request&, httplib::Response& response) {
    SetHeaders(response);
    if (!ready_) response.status = 503;
    response.set_content(ready_ ? "ok\n" : "not serving\n", kText);
  });
  server_->Get("/version", [](const httplib::Request&, httplib::Response& response) {
    SetHeaders(response);
    response.set_content("ringd " RINGD_VERSION "\n", kText);
  });
}

// The host of a unix socket is empty, for which httplib would take a port of loopback that nobody asked for.
absl::Status AdminHttp::CheckAddress(const ListenAddress& address) {
  if (!address.is_unix()) return absl::OkStatus();
  return ring::Error(
      absl::StatusCode::kInvalidArgument, ring::kInvalidField,
      fmt::format("cannot listen on {} for HTTP: it takes HOST:PORT, no unix socket", address.ToString()));
}

absl::StatusOr<std::unique_ptr<AdminHttp>> AdminHttp::Start(const ListenAddress& address) {
  if (absl::Status status = CheckAddress(address); !status.ok()) return status;
  std::unique_ptr<AdminHttp> http(new AdminHttp(address));
  const bool bound = address.port == 0 ? (http->address_.port = http->server_->bind_to_any_port(address.host)) > 0
                                       : http->server_->bind_to_port(address.host, address.port);
  if (!bound) {
    return ring::Error(absl::StatusCode::kUnavailable, "CANNOT_LISTEN",
                       fmt::format("cannot listen on {} for HTTP: {}", address.ToString(), WhyNotBindable(address)));
  }
  http->thread_ = std::thread([self = http.get()] {
    self->server_->listen_after_bind();
    self->ended_ = true;
  });
  // A stop that comes before the server runs would be lost.
  while (!http->server_->is_running() && !http->ended_) std::this_thread::yield();
  return http;
}

AdminHttp::~AdminHttp() {
  server_->stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace ringd::server
