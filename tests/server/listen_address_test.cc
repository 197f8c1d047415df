// Which texts are addresses to listen on, which of those are local, and why an address cannot be bound.
#include "server/listen_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "ring/error.h"
#include "tests/server/store_test_data.h"

namespace ringd::server {
namespace {

using ::testing::HasSubstr;

std::string TextOf(const absl::Status& status) { return std::string(status.message()); }

// A socket of the system's that is closed in the end.
class Socket {
 public:
  Socket(int family, int type) : fd_(socket(family, type, 0)) {}
  Socket(const Socket&) = delete;
  ~Socket() { close(fd_); }

  template <class Name>
  bool Bind(const Name& name) {
    return bind(fd_, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0;
  }
  bool BindUnix(const std::string& path) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    path.copy(name.sun_path, sizeof(name.sun_path) - 1);
    return Bind(name);
  }
  bool Listen() { return listen(fd_, 8) == 0; }
  int Port() {
    sockaddr_in name{};
    socklen_t size = sizeof(name);
    return getsockname(fd_, reinterpret_cast<sockaddr*>(&name), &size) == 0 ? ntohs(name.sin_port) : 0;
  }

 private:
  const int fd_;
};

ListenAddress UnixAt(const std::string& path) { return {.unix_path = path}; }

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
    EXPECT_TRUE(CheckLocal(*ParseListenAddress(text)).ok()) << text;
  }
}

TEST(ListenAddress, EverythingElseIsRefusedAndToldWhatIsNeeded) {
  for (const char* text : {"0.0.0.0:1", "[::]:1", "126.255.255.255:1", "128.0.0.1:1", "10.0.0.1:1", "192.0.2.1:1",
                           "[2001:db8::1]:1", "[::2]:1", "[::ffff:127.0.0.1]:1", "example.org:1", "localhost.org:1",
                           "127.1:1", " 127.0.0.1:1", "127.0.0.1 :1", "*:1"}) {
    const absl::Status status = CheckLocal(*ParseListenAddress(text));
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << text << ": " << status;
    EXPECT_EQ(ring::ReasonOf(status), "PLAINTEXT_REFUSED");
    EXPECT_THAT(TextOf(status), HasSubstr("refusing to listen on " + std::string(text) +
                                          ": it is neither loopback nor a unix socket, and mTLS is not configured"));
  }
}

TEST(ListenAddress, APortThatIsTakenIsInUseAndAFreeOneIsBindable) {
  Socket taken(AF_INET, SOCK_STREAM);
  sockaddr_in any_port{};
  any_port.sin_family = AF_INET;
  any_port.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_TRUE(taken.Bind(any_port) && taken.Listen());
  EXPECT_EQ(WhyNotBindable({.host = "127.0.0.1", .port = taken.Port()}), std::strerror(EADDRINUSE));
  EXPECT_EQ(WhyNotBindable({.host = "127.0.0.1", .port = 0}), "");
}

TEST(ListenAddress, AnAddressOfAnotherMachineCannotBeBound) {
  EXPECT_EQ(WhyNotBindable({.host = "192.0.2.1", .port = 0}), std::strerror(EADDRNOTAVAIL));
}

TEST(ListenAddress, AUnixPathIsBindableWhenItIsFreeOrASocketThatNobodyListensOn) {
  TempDir temp;
  EXPECT_EQ(WhyNotBindable(UnixAt(temp / "free")), "");
  { ASSERT_TRUE(Socket(AF_UNIX, SOCK_STREAM).BindUnix(temp / "stale")); }
  EXPECT_EQ(WhyNotBindable(UnixAt(temp / "stale")), "");
  EXPECT_TRUE(std::filesystem::is_socket(temp / "stale")) << "asking removed it";
  std::filesystem::create_symlink(temp / "stale", temp / "link");
  EXPECT_EQ(WhyNotBindable(UnixAt(temp / "link")), "");
}

TEST(ListenAddress, AUnixPathThatIsTakenIsInUse) {
  TempDir temp;
  Socket live(AF_UNIX, SOCK_STREAM);
  ASSERT_TRUE(live.BindUnix(temp / "live") && live.Listen());
  std::ofstream(temp / "file") << "x";
  std::filesystem::create_directory(temp / "folder");
  std::filesystem::create_symlink(temp / "nowhere", temp / "dangling");
  for (const char* name : {"live", "file", "folder", "dangling"}) {
    EXPECT_EQ(WhyNotBindable(UnixAt(temp / name)), std::strerror(EADDRINUSE)) << name;
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::symlink_status(temp / name))) << "asking removed it: " << name;
  }
}

TEST(ListenAddress, AUnixPathThatCannotBeMadeIsToldInTheSystemsWords) {
  TempDir temp;
  std::ofstream(temp / "file") << "x";
  Socket datagrams(AF_UNIX, SOCK_DGRAM);
  ASSERT_TRUE(datagrams.BindUnix(temp / "datagrams"));
  EXPECT_EQ(WhyNotBindable(UnixAt(temp / "missing/s")), std::strerror(ENOENT));
  EXPECT_EQ(WhyNotBindable(UnixAt(temp / "file/s")), std::strerror(ENOTDIR));
  EXPECT_EQ(WhyNotBindable(UnixAt(temp / "datagrams")), std::strerror(EPROTOTYPE));
}

}  // namespace
}  // namespace ringd::server
