// The probes over a real loopback socket: what they answer, and what clients that misbehave cannot do.
#include "server/admin_http.h"

#include <gtest/gtest.h>
#include <httplib.h>

#include <chrono>
#include <functional>
#include <new>
#include <thread>
#include <vector>

#include "ring/error.h"
#include "ring/mutex.h"
#include "tests/server/connection.h"
#include "tests/server/store_test_data.h"

namespace ringd::server {
namespace {

const ListenAddress kAnyPort{.host = "127.0.0.1"};

using Pages = AdminHttp::Pages;

std::unique_ptr<AdminHttp> Started(
    const ListenAddress& address = kAnyPort, Pages pages = Pages::kLocal,
    std::function<std::string()> metrics = [] { return std::string("up 1\n"); }) {
  auto http = AdminHttp::Start(address, pages, std::move(metrics));
  EXPECT_TRUE(http.ok()) << http.status();
  return http.ok() ? *std::move(http) : nullptr;
}

// As patient as a slow machine under a sanitizer needs.
httplib::Client ClientOf(const AdminHttp& http) {
  httplib::Client client(http.address().host, http.address().port);
  client.set_read_timeout(30);
  return client;
}

// "200 ok\n"; what went wrong when there was no answer.
std::string Answer(const httplib::Result& result) {
  return result ? std::to_string(result->status) + " " + result->body : httplib::to_string(result.error());
}

TEST(AdminHttp, IsAliveAtOnceAndReadyWhileItIsTold) {
  const auto http = Started();
  ASSERT_NE(http, nullptr);
  const auto get = [&](const char* path) { return Answer(ClientOf(*http).Get(path)); };
  EXPECT_EQ(get("/livez"), "200 ok\n");
  EXPECT_EQ(get("/readyz"), "503 not serving\n");
  http->SetReady(true);
  EXPECT_EQ(get("/readyz"), "200 ok\n");
  http->SetReady(false);
  EXPECT_EQ(get("/readyz"), "503 not serving\n");
  EXPECT_EQ(get("/livez"), "200 ok\n");
  EXPECT_EQ(get("/version"), "200 ringd " RINGD_VERSION "\n");
}

TEST(AdminHttp, AnswersAreTextThatNobodyKeeps) {
  const auto http = Started();
  ASSERT_NE(http, nullptr);
  for (const char* path : {"/livez", "/readyz", "/version"}) {
    const httplib::Result result = ClientOf(*http).Get(path);
    ASSERT_TRUE(result) << path;
    EXPECT_EQ(result->get_header_value("Content-Type"), "text/plain; charset=utf-8");
    EXPECT_EQ(result->get_header_value("Cache-Control"), "no-store");
    EXPECT_EQ(result->get_header_value("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(result->get_header_value("Content-Security-Policy"), "default-src 'none'");
  }
}

TEST(AdminHttp, HeadIsAGetWithoutTheBody) {
  const auto http = Started();
  ASSERT_NE(http, nullptr);
  for (const char* path : {"/livez", "/readyz", "/version", "/metrics"}) {
    const httplib::Result get = ClientOf(*http).Get(path);
    const httplib::Result head = ClientOf(*http).Head(path);
    ASSERT_TRUE(get && head) << path;
    EXPECT_EQ(head->status, get->status);
    EXPECT_EQ(head->body, "");
    EXPECT_EQ(head->get_header_value("Content-Length"), std::to_string(get->body.size()));
  }
}

TEST(AdminHttp, OtherPathsAndMethodsAreRefused) {
  const auto http = Started();
  ASSERT_NE(http, nullptr);
  for (const char* path : {"/", "/livez/", "/livez/x", "/LIVEZ", "/readyz2", "/../livez", "/metrics/", "/metrics/r"}) {
    const httplib::Result result = ClientOf(*http).Get(path);
    ASSERT_TRUE(result) << path;
    EXPECT_EQ(result->status, 404) << path;
  }
  for (const char* path : {"/livez", "/readyz", "/version", "/metrics"}) {
    const httplib::Result results[] = {ClientOf(*http).Post(path), ClientOf(*http).Put(path),
                                       ClientOf(*http).Delete(path), ClientOf(*http).Patch(path)};
    for (const httplib::Result& result : results) {
      ASSERT_TRUE(result) << path;
      EXPECT_EQ(result->status, 404) << path;
    }
    const httplib::Result with_body = ClientOf(*http).Post(path, "x", "text/plain");
    ASSERT_TRUE(with_body) << path;
    EXPECT_EQ(with_body->status, 413) << path;
  }
}

TEST(AdminHttp, APortThatIsTakenIsUnavailableAndNamesTheAddress) {
  const auto first = Started();
  ASSERT_NE(first, nullptr);
  const absl::Status taken = AdminHttp::Start(first->address(), Pages::kPublic, nullptr).status();
  EXPECT_TRUE(absl::IsUnavailable(taken)) << taken;
  EXPECT_EQ(ring::ReasonOf(taken), "CANNOT_LISTEN");
  EXPECT_EQ(std::string(taken.message()),
            "cannot listen on " + first->address().ToString() + ": Address already in use");
  EXPECT_EQ(Answer(ClientOf(*first).Get("/livez")), "200 ok\n") << "the first no longer answers";
}

TEST(AdminHttp, AnswersOnAUnixSocketToo) {
  TempDir temp;
  const auto http = Started({.unix_path = temp / "http"});
  ASSERT_NE(http, nullptr);
  httplib::Client client(temp / "http");
  client.set_address_family(AF_UNIX);
  EXPECT_EQ(Answer(client.Get("/livez")), "200 ok\n");
}

// Far more clients than there are threads to wait for them: each is given up, and others are answered.
TEST(AdminHttp, ClientsThatSayNothingDoNotKeepItFromOthers) {
  const auto http = Started();
  ASSERT_NE(http, nullptr);
  std::vector<std::unique_ptr<Connection>> silent;
  for (int i = 0; i < 100; i++) silent.push_back(std::make_unique<Connection>(http->address()));
  EXPECT_EQ(Answer(ClientOf(*http).Get("/livez")), "200 ok\n");
  for (const auto& connection : silent) EXPECT_EQ(connection->ReadAll(), "") << "closed without an answer";
}

TEST(AdminHttp, AClientThatDripsItsRequestIsGivenUp) {
  const auto http = Started();
  ASSERT_NE(http, nullptr);
  Connection dripping(http->address());
  std::string sent = "GET /livez HTTP/1.1\r\nX: ";
  while (dripping.Send(sent)) {  // until the server has closed it
    sent = "x";
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

TEST(AdminHttp, AStopRightAfterTheStartIsNotLostAndFreesThePort) {
  ListenAddress address = kAnyPort;
  for (int i = 0; i < 50; i++) {
    const auto http = Started(address);
    ASSERT_NE(http, nullptr) << "start " << i;
    address = http->address();
    EXPECT_GT(address.port, 0);
  }
}

TEST(AdminHttp, AClientThatSaysNothingDoesNotHoldUpAStop) {
  auto http = Started();
  ASSERT_NE(http, nullptr);
  Connection silent(http->address());
  EXPECT_EQ(Answer(ClientOf(*http).Get("/livez")), "200 ok\n");
  http.reset();
  EXPECT_EQ(silent.ReadAll(), "");
}

TEST(AdminHttp, ARequestWithoutEndIsCutOff) {
  const auto http = Started();
  ASSERT_NE(http, nullptr);
  Connection endless(http->address());
  std::string sent = "GET /livez HTTP/1.1\r\n";
  while (endless.Send(sent)) sent = "X-Header: " + std::string(1'000, 'x') + "\r\n";
}

TEST(AdminHttp, MetricsAreTextInTheFormatThatPrometheusKnows) {
  int scrapes = 0;
  const auto http = Started(kAnyPort, Pages::kLocal, [&] { return "scrapes " + std::to_string(++scrapes) + "\n"; });
  ASSERT_NE(http, nullptr);
  EXPECT_EQ(Answer(ClientOf(*http).Get("/metrics")), "200 scrapes 1\n");
  // Whoever asks for it compressed gets it plain.
  const httplib::Result result = ClientOf(*http).Get("/metrics", {{"Accept-Encoding", "br, gzip, deflate"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->body, "scrapes 2\n");
  EXPECT_EQ(result->get_header_value("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(result->get_header_value("Content-Encoding"), "");
  EXPECT_EQ(result->get_header_value("Content-Length"), "10");
  EXPECT_EQ(result->get_header_value("Cache-Control"), "no-store");
}

// A request of 8 KiB, for thousands of ranges which are all the whole page, was answered by half a gigabyte.
TEST(AdminHttp, APageIsSentOnceWhateverRangesAreAskedFor) {
  const std::string page(100'000, '#');
  const auto http = Started(kAnyPort, Pages::kLocal, [&] { return page; });
  ASSERT_NE(http, nullptr);
  std::string ranges = "bytes=0-";
  for (int i = 0; i < 2'000; ++i) ranges += ",0-";
  for (const std::string& range : {std::string("bytes=0-9"), ranges}) {
    const httplib::Result result = ClientOf(*http).Get("/metrics", {{"Range", range}});
    ASSERT_TRUE(result);
    EXPECT_EQ(result->status, 200);
    EXPECT_EQ(result->body, page);
  }
}

TEST(AdminHttp, PublicPagesAreMetricsAndProbesAlone) {
  const auto http = Started(kAnyPort, Pages::kPublic);
  ASSERT_NE(http, nullptr);
  http->SetReady(true);
  for (const char* path : {"/metrics", "/livez", "/readyz"}) {
    const httplib::Result result = ClientOf(*http).Get(path);
    ASSERT_TRUE(result) << path;
    EXPECT_EQ(result->status, 200) << path;
  }
  EXPECT_EQ(ClientOf(*http).Get("/version")->status, 404);
}

// Far more than the buffers of a socket hold, so it goes out in parts.
TEST(AdminHttp, APageOfAnySizeIsSentWhole) {
  std::string page;
  for (int i = 0; page.size() < (8 << 20); i++) page += "some_metric{number=\"" + std::to_string(i) + "\"} 1\n";
  const auto http = Started(kAnyPort, Pages::kLocal, [&] { return page; });
  ASSERT_NE(http, nullptr);
  const httplib::Result result = ClientOf(*http).Get("/metrics");
  ASSERT_TRUE(result) << httplib::to_string(result.error());
  EXPECT_TRUE(result->body == page) << result->body.size() << " of " << page.size() << " bytes";
}

// As many as may are being made; the others are told so at once, and probes are answered.
TEST(AdminHttp, ScrapesAtATimeAreBoundedAndDoNotKeepProbesWaiting) {
  Mutex mutex;
  CondVar changed;
  size_t waiting = 0;
  bool open = false;
  const auto http = Started(kAnyPort, Pages::kLocal, [&] {
    MutexLock lock(mutex);
    waiting++;
    changed.NotifyAll();
    while (!open) changed.Wait(mutex);
    return std::string("made\n");
  });
  ASSERT_NE(http, nullptr);
  std::vector<std::thread> scrapers;
  for (size_t i = 0; i < AdminHttp::kMaxScrapes; i++) {
    scrapers.emplace_back([&] { EXPECT_EQ(Answer(ClientOf(*http).Get("/metrics")), "200 made\n"); });
  }
  {
    MutexLock lock(mutex);
    while (waiting < AdminHttp::kMaxScrapes) changed.Wait(mutex);
  }
  EXPECT_EQ(Answer(ClientOf(*http).Get("/metrics")), "503 too many scrapes at a time\n");
  EXPECT_EQ(Answer(ClientOf(*http).Get("/metrics")), "503 too many scrapes at a time\n") << "a refusal takes no place";
  EXPECT_EQ(Answer(ClientOf(*http).Get("/livez")), "200 ok\n");
  {
    MutexLock lock(mutex);
    open = true;
    changed.NotifyAll();
  }
  for (std::thread& scraper : scrapers) scraper.join();
  std::string answer;
  for (int i = 0; i < 1'000 && answer != "200 made\n"; i++) answer = Answer(ClientOf(*http).Get("/metrics"));
  EXPECT_EQ(answer, "200 made\n") << "the places are free again";
}

TEST(AdminHttp, APageThatCannotBeMadeIsAnErrorOfTheServerAndFreesItsPlace) {
  const auto http = Started(kAnyPort, Pages::kLocal, []() -> std::string { throw std::bad_alloc(); });
  ASSERT_NE(http, nullptr);
  for (size_t i = 0; i < AdminHttp::kMaxScrapes + 1; i++) {
    Connection scraper(http->address());
    ASSERT_TRUE(scraper.Send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"));
    // The connection is closed after the place is free.
    EXPECT_TRUE(scraper.ReadAll().starts_with("HTTP/1.1 500 ")) << i;
  }
}

}  // namespace
}  // namespace ringd::server
