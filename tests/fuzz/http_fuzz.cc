// The HTTP listener: bytes as a client sends them, on a real connection.
//
// The library that parses them comes compiled, so libFuzzer does not see its branches: what it is told instead is what
// the answer looks like.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "server/admin_http.h"
#include "server/descriptor.h"
#include "tests/fuzz/fuzz.h"
#include "tests/server/store_test_data.h"

// libFuzzer takes these for counters of branches.
__attribute__((used, section("__libfuzzer_extra_counters"))) std::array<uint8_t, 4096> kinds_of_answers;

namespace ringd::server {
namespace {

using fuzz::Check;

constexpr int kPatienceMillis = 900;  // below libFuzzer's limit for one input
constexpr size_t kMaxRequestBytes = 16 << 10;
constexpr size_t kPageBytes = 4'000;

// One listener for all inputs.
class Http {
 public:
  Http() {
    const ListenAddress address{.unix_path = dir_ / "http"};
    http_ = *AdminHttp::Start(address, AdminHttp::Pages::kLocal, [] { return std::string(kPageBytes, '#'); });
    http_->SetReady(true);
  }

  // The answer to these bytes, after which the client has nothing more to say.
  std::string Answer(std::string_view bytes) const {
    const Descriptor client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    http_->address().unix_path.copy(name.sun_path, sizeof(name.sun_path) - 1);
    Check(connect(client.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0, "it accepts");
    (void)!send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);  // it may have answered, and closed, before
    shutdown(client.get(), SHUT_WR);
    std::string answer;
    std::array<char, 16'384> buffer{};
    while (true) {
      pollfd ready{client.get(), POLLIN, 0};
      int polled = 0;
      do {
        polled = poll(&ready, 1, kPatienceMillis);
      } while (polled < 0 && errno == EINTR);  // libFuzzer looks at its clock by an alarm
      Check(polled == 1, "it answers or closes");
      const ssize_t got = recv(client.get(), buffer.data(), buffer.size(), 0);
      if (got <= 0) return answer;
      answer.append(buffer.data(), static_cast<size_t>(got));
    }
  }

 private:
  TempDir dir_;
  std::unique_ptr<AdminHttp> http_;
};

std::vector<std::string_view> LinesOf(std::string_view head) {
  std::vector<std::string_view> lines;
  for (size_t end = 0; (end = head.find("\r\n")) != std::string_view::npos; head.remove_prefix(end + 2)) {
    lines.push_back(head.substr(0, end));
  }
  return lines;
}

// Of the headers of an answer; nothing of what the client says comes back in them.
const std::set<std::string_view> kHeaders = {
    "Cache-Control", "Connection",    "Content-Length", "Content-Security-Policy",
    "Content-Type",  "Accept-Ranges", "Keep-Alive",     "X-Content-Type-Options"};
const std::set<std::string_view> kStatuses = {"200", "400", "404", "413", "414", "415", "416", "417"};

// To who expects to be told to go on before sending a body.
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

void JudgeAnswer(std::string_view request, std::string_view answer) {
  if (answer.starts_with(kContinue)) answer.remove_prefix(kContinue.size());
  const size_t head_end = answer.find("\r\n\r\n");
  Check(head_end != std::string_view::npos, "an answer has a head", answer);
  const std::vector<std::string_view> lines = LinesOf(answer.substr(0, head_end + 2));
  const std::string_view status = lines.front().substr(0, 12);
  const std::string_view body = answer.substr(head_end + 4);
  Check(status.substr(0, 9) == "HTTP/1.1 " && kStatuses.contains(status.substr(9)), "the status is one of ours",
        lines.front());
  size_t told_bytes = 0;
  size_t features = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::string_view name = lines[i].substr(0, lines[i].find(": "));
    Check(kHeaders.contains(name), "the header is one of ours", lines[i]);
    if (name == "Content-Length") told_bytes = std::stoul(std::string(lines[i].substr(name.size() + 2)));
    features += std::hash<std::string_view>()(name);
  }
  const bool is_head = request.substr(0, 5) == "HEAD ";
  Check(body.size() == (is_head ? 0 : told_bytes), "the body has the length that was told", lines.front());
  Check(body.size() <= kPageBytes, "no answer is larger than the page");
  if (status.substr(9) == "200") {
    Check(is_head || request.substr(0, 4) == "GET ", "only GET and HEAD are answered", request.substr(0, 20));
    Check(std::count(lines.begin(), lines.end(), "X-Content-Type-Options: nosniff") == 1, "a page may not be sniffed");
  }
  kinds_of_answers[(features + std::hash<std::string_view>()(status) + body.size()) % kinds_of_answers.size()] = 1;
}

}  // namespace
}  // namespace ringd::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ringd::server;
  static const Http http;
  const std::string_view request(reinterpret_cast<const char*>(data), size);
  const std::string answer = http.Answer(request);
  if (!answer.empty()) JudgeAnswer(request, answer);
  const size_t head_end = request.find("\r\n\r\n");
  Check(!answer.empty() || head_end == std::string_view::npos || head_end + 4 > kMaxRequestBytes,
        "a whole request is answered");
  return 0;
}
