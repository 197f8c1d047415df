// The probes over a real loopback socket: what they answer, and what clients that misbehave cannot do.
#include "server/admin_http.h"

#include <gtest/gtest.h>
#include <httplib.h>

#include <chrono>
#include <thread>
#include <vector>

#include "ring/error.h"
#include "tests/server/connection.h"
#include "tests/server/store_test_data.h"

namespace ringd::server {
namespace {

const ListenAddress kAnyPort{.host = "127.0.0.1"};

std::unique_ptr<AdminHttp> Started(const ListenAddress& address = kAnyPort) {
  auto http = AdminHttp::Start(address);
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
  for (const char* path : {"/livez", "/readyz", "/version"}) {
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
  for (const char* path : {"/", "/livez/", "/livez/x", "/LIVEZ", "/readyz2", "/../livez", "/metrics"}) {
    const httplib::Result result = ClientOf(*http).Get(path);
    ASSERT_TRUE(result) << path;
    EXPECT_EQ(result->status, 404) << path;
  }
  for (const char* path : {"/livez", "/readyz", "/version"}) {
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
  const absl::Status taken = AdminHttp::Start(first->address()).status();
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

}  // namespace
}  // namespace ringd::server
