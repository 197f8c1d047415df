// Which texts are addresses to listen on, and which of those are local.
#include "server/listen_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ring/error.h"

namespace ringd::server {
namespace {

using ::testing::HasSubstr;

std::string TextOf(const absl::Status& status) { return std::string(status.message()); }

TEST(ListenAddress, EveryFormIsReadAndWritten) {
  const std::string longest(107, 'p');
  const struct {
    std::string text, host;
    int port;
    std::string unix_path, written;
  } forms[] = {
      {"127.0.0.1:7440", "127.0.0.1", 7440, "", "127.0.0.1:7440"},
      {"localhost:0", "localhost", 0, "", "localhost:0"},
      {"0.0.0.0:65535", "0.0.0.0", 65'535, "", "0.0.0.0:65535"},
      {"host.example.org:00080", "host.example.org", 80, "", "host.example.org:80"},
      {"[::1]:7440", "::1", 7440, "", "[::1]:7440"},
      {"[fe80::1%eth0]:1", "fe80::1%eth0", 1, "", "[fe80::1%eth0]:1"},
      {"unix:ringd.sock", "", 0, "ringd.sock", "unix:ringd.sock"},
      {"unix:/run/ringd.sock", "", 0, "/run/ringd.sock", "unix:/run/ringd.sock"},
      {"unix:///run/ringd.sock", "", 0, "/run/ringd.sock", "unix:/run/ringd.sock"},
      {"unix:/run/a:1", "", 0, "/run/a:1", "unix:/run/a:1"},
      {"unix:" + longest, "", 0, longest, "unix:" + longest},
      {"unix:///" + longest.substr(1), "", 0, "/" + longest.substr(1), "unix:/" + longest.substr(1)},
  };
  for (const auto& form : forms) {
    for (const std::string& text : {form.text, form.written}) {
      const auto address = ParseListenAddress(text);
      ASSERT_TRUE(address.ok()) << address.status();
      EXPECT_EQ(address->host, form.host) << text;
      EXPECT_EQ(address->port, form.port) << text;
      EXPECT_EQ(address->unix_path, form.unix_path) << text;
      EXPECT_EQ(address->is_unix(), !form.unix_path.empty()) << text;
      EXPECT_EQ(address->ToString(), form.written);
    }
  }
}

TEST(ListenAddress, WhatIsNoAddressIsRefusedAndToldWhy) {
  const struct {
    std::string text, why;
  } refused[] = {
      {"", "it has no port; write HOST:PORT"},
      {" ", "it has no port"},
      {"127.0.0.1", "it has no port"},
      {"7440", "it has no port"},
      {":7440", "it has no host; write 127.0.0.1:PORT"},
      {"[]:7440", "it has no host"},
      {"::1:7440", "write an IPv6 address as [ADDRESS]:PORT"},
      {"[::1]", "write an IPv6 address as [ADDRESS]:PORT"},
      {"127.0.0.1:", "the port \"\" is not a number 0..65535"},
      {"127.0.0.1:65536", "the port \"65536\" is not a number 0..65535"},
      {"127.0.0.1:99999999999", "the port \"99999999999\" is not"},
      {"127.0.0.1:-1", "the port \"-1\" is not"},
      {"127.0.0.1:+1", "the port \"+1\" is not"},
      {"127.0.0.1: 1", "the port \" 1\" is not"},
      {"127.0.0.1:1 ", "the port \"1 \" is not"},
      {"127.0.0.1:0x50", "the port \"0x50\" is not"},
      {"127.0.0.1:http", "the port \"http\" is not"},
      {"unix:", "the path has 0 bytes, it must have 1..107"},
      {"unix://", "the path has 0 bytes, it must have 1..107"},
      {"unix:" + std::string(108, 'p'), "the path has 108 bytes, it must have 1..107"},
      {"unix:///" + std::string(107, 'p'), "the path has 108 bytes, it must have 1..107"},
      {"unix://run/ringd.sock", "write unix:PATH or unix:///PATH"},  // "run" would be a host's name
  };
  for (const auto& [text, why] : refused) {
    const absl::Status status = ParseListenAddress(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text << ": " << status;
    EXPECT_EQ(ring::ReasonOf(status), ring::kInvalidField);
    EXPECT_THAT(TextOf(status), HasSubstr(ring::Quote(text) + " is no address to listen on: " + why));
  }
}

TEST(ListenAddress, LoopbackAndUnixSocketsAreLocal) {
  for (const char* text :
       {"localhost:1", "127.0.0.1:1", "127.0.0.0:1", "127.255.255.255:1", "[::1]:1", "[0:0:0:0:0:0:0:1]:1", "unix:s"}) {
    EXPECT_TRUE(IsLocal(*ParseListenAddress(text))) << text;
  }
}

TEST(ListenAddress, NothingElseIsLocal) {
  for (const char* text : {"0.0.0.0:1", "[::]:1", "126.255.255.255:1", "128.0.0.1:1", "10.0.0.1:1", "192.0.2.1:1",
                           "[2001:db8::1]:1", "[::2]:1", "[::ffff:127.0.0.1]:1", "example.org:1", "localhost.org:1",
                           "127.1:1", " 127.0.0.1:1", "127.0.0.1 :1", "*:1"}) {
    EXPECT_FALSE(IsLocal(*ParseListenAddress(text))) << text;
  }
}

}  // namespace
}  // namespace ringd::server
