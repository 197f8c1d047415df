#include "server/admin_http.h"

#include <httplib.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "server/descriptor.h"
#include "server/listener.h"
#include "spdlog/spdlog.h"

namespace ringd::server {
namespace {

using Clock = std::chrono::steady_clock;
using Pages = AdminHttp::Pages;

constexpr char kText[] = "text/plain; charset=utf-8";
constexpr char kMetricsText[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr std::chrono::seconds kReadWithin{1};
constexpr std::chrono::seconds kWriteWithin{5};
constexpr size_t kMaxRequestBytes = 16 << 10;  // the library bounds neither headers nor chunks
constexpr int kReservedDescriptors = 32;       // that its connections leave to others
constexpr size_t kThreads = 32;
constexpr size_t kMaxConnections = 256;

void SetHeaders(httplib::Response& response) {
  response.set_header("Cache-Control", "no-store");
  response.set_header("X-Content-Type-Options", "nosniff");
  response.set_header("Content-Security-Policy", "default-src 'none'");
}

// A connected socket with a size and a time for the whole request and a time for the whole answer, both from when it
// came: time that it waited for a thread counts, so that many silent clients take no longer than one.
class TimedStream final : public httplib::Stream {
 public:
  // Both descriptors are borrowed. When `stop` becomes readable, waiting ends.
  TimedStream(int socket, int stop, Clock::time_point came) : socket_(socket), stop_(stop), start_(came) {}

  bool is_readable() const override { return first_ < last_ || Wait(POLLIN, start_ + kReadWithin); }
  bool is_writable() const override { return Wait(POLLOUT, start_ + kWriteWithin); }

  // The library asks for one byte at a time.
  ssize_t read(char* bytes, size_t size) override {
    if (first_ == last_) {
      if (taken_ >= kMaxRequestBytes || !is_readable()) return -1;
      const ssize_t got = recv(socket_, buffer_.data(), buffer_.size(), 0);
      if (got <= 0) return got;
      first_ = 0;
      last_ = static_cast<size_t>(got);
      taken_ += last_;
    }
    const size_t count = std::min(size, last_ - first_);
    std::copy_n(buffer_.data() + first_, count, bytes);
    first_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* bytes, size_t size) override {
    return is_writable() ? send(socket_, bytes, size, MSG_NOSIGNAL) : -1;
  }

  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return socket_; }

 private:
  bool Wait(short events, Clock::time_point until) const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    const int millis = static_cast<int>(std::max(left, std::chrono::milliseconds(0)).count());
    std::array<pollfd, 2> polled{{{socket_, events, 0}, {stop_, POLLIN, 0}}};
    return poll(polled.data(), polled.size(), millis) > 0 && polled[1].revents == 0;
  }

  const int socket_;
  const int stop_;
  const Clock::time_point start_;
  std::array<char, 4'096> buffer_;
  size_t first_ = 0;
  size_t last_ = 0;
  size_t taken_ = 0;
};

// The library's server without its sockets.
class Router final : public httplib::Server {
 public:
  Router(const std::atomic<bool>& ready, Pages pages, std::function<std::string()> metrics)
      : metrics_(std::move(metrics)) {
    set_payload_max_length(0);
    Get("/livez", [](const httplib::Request&, httplib::Response& response) {
      SetHeaders(response);
      response.set_content("ok\n", kText);
    });
    Get("/readyz", [&ready](const httplib::Request&, httplib::Response& response) {
      const bool now = ready;
      SetHeaders(response);
      if (!now) response.status = 503;
      response.set_content(now ? "ok\n" : "not serving\n", kText);
    });
    Get("/metrics", [this](const httplib::Request&, httplib::Response& response) { AnswerScrape(response); });
    if (pages == Pages::kPublic) return;
    Get("/version", [](const httplib::Request&, httplib::Response& response) {
      SetHeaders(response);
      response.set_content("ringd " RINGD_VERSION "\n", kText);
    });
  }

  void Answer(httplib::Stream& stream) {
    const absl::Cleanup sent = [] { scrape.reset(); };
    bool closed = false;
    process_request(stream, /*close_connection=*/true, closed, [](httplib::Request& request) {
      // Compressing would cost far more than making the page, and the caller chooses how.
      request.headers.erase("Accept-Encoding");
      // So would a page that is sent a thousand times over, since nothing says that ranges may not be the same.
      request.ranges.clear();
    });
  }

 private:
  // One of the scrapes that are under way at the same time.
  class Scrape {
   public:
    explicit Scrape(std::atomic<size_t>& scrapes) : scrapes_(scrapes), admitted_(scrapes++ < AdminHttp::kMaxScrapes) {}
    ~Scrape() { scrapes_--; }
    Scrape(const Scrape&) = delete;

    bool admitted() const { return admitted_; }

   private:
    std::atomic<size_t>& scrapes_;
    const bool admitted_;
  };

  void AnswerScrape(httplib::Response& response) {
    SetHeaders(response);
    scrape.emplace(scrapes_);
    if (!scrape->admitted()) {
      response.status = 503;
      response.set_content("too many scrapes at a time\n", kText);
      return;
    }
    response.set_content(metrics_(), kMetricsText);
  }

  // Of the request that this thread answers, until the answer was sent or given up.
  static inline thread_local std::optional<Scrape> scrape;

  const std::function<std::string()> metrics_;
  std::atomic<size_t> scrapes_ = 0;
};

}  // namespace

// The listener's thread takes connections in, the pool's threads answer them.
class AdminHttp::Connections {
 public:
  Connections(std::unique_ptr<Listener> listener, const std::atomic<bool>& ready, Pages pages,
              std::function<std::string()> metrics)
      : stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        router_(ready, pages, std::move(metrics)),
        listener_(std::move(listener)) {
    listener_->Start([this](int socket) { Take(socket); });
  }
  ~Connections() {
    listener_->Stop();
    const uint64_t one = 1;
    (void)!write(stop_.get(), &one, sizeof(one));
    pool_.shutdown();
  }

  const ListenAddress& address() const { return listener_->address(); }

 private:
  void Take(int socket) {
    if (open_ >= kMaxConnections) {
      close(socket);
      return;
    }
    open_++;
    pool_.enqueue([this, socket, came = Clock::now()] {
      TimedStream stream(socket, stop_.get(), came);
      try {
        router_.Answer(stream);
      } catch (const std::exception& error) {
        spdlog::warn("HTTP: {}", error.what());
      }
      shutdown(socket, SHUT_RDWR);
      close(socket);
      open_--;
    });
  }

  const Descriptor stop_;  // an eventfd
  Router router_;
  std::atomic<size_t> open_ = 0;
  httplib::ThreadPool pool_{kThreads};
  std::unique_ptr<Listener> listener_;
};

absl::StatusOr<std::unique_ptr<AdminHttp>> AdminHttp::Start(const ListenAddress& address, Pages pages,
                                                            std::function<std::string()> metrics) {
  auto listener = Listener::Bind(address, kReservedDescriptors);
  if (!listener.ok()) return listener.status();
  std::unique_ptr<AdminHttp> http(new AdminHttp());
  http->connections_ = std::make_unique<Connections>(*std::move(listener), http->ready_, pages, std::move(metrics));
  return http;
}

AdminHttp::~AdminHttp() = default;

const ListenAddress& AdminHttp::address() const { return connections_->address(); }

}  // namespace ringd::server
