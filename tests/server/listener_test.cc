// What can be bound and what is said when it cannot; that connections are taken, and are again after descriptors ran
// out.
#include "server/listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>

#include "ring/error.h"
#include "spdlog/sinks/base_sink.h"
#include "spdlog/spdlog.h"
#include "tests/server/connection.h"
#include "tests/server/store_test_data.h"
#include "tests/support/shared.h"

namespace ringd::server {
namespace {

constexpr int kReserved = 20;
const ListenAddress kAnyPort{.host = "127.0.0.1"};

ListenAddress UnixAt(const std::string& path) { return {.unix_path = path}; }

// Sends "hi" on each connection and closes it.
void Greet(int socket) {
  send(socket, "hi", 2, MSG_NOSIGNAL);
  close(socket);
}

std::unique_ptr<Listener> Bound(const ListenAddress& address) {
  auto listener = Listener::Bind(address, kReserved);
  EXPECT_TRUE(listener.ok()) << listener.status();
  return listener.ok() ? *std::move(listener) : nullptr;
}

void ExpectRefused(const ListenAddress& address, const std::string& why) {
  const absl::Status status = Listener::Bind(address, kReserved).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(ring::ReasonOf(status), "CANNOT_LISTEN");
  EXPECT_EQ(std::string(status.message()), "cannot listen on " + address.ToString() + ": " + why);
}

TEST(Listener, TakesConnectionsOnAPortThatIsFree) {
  const auto listener = Bound(kAnyPort);
  ASSERT_NE(listener, nullptr);
  EXPECT_GT(listener->address().port, 0);
  Connection early(listener->address());
  listener->Start(Greet);
  EXPECT_EQ(early.ReadAll(), "hi") << "one that came before Start waits";
  EXPECT_EQ(Connection(listener->address()).ReadAll(), "hi");
  listener->Stop();
  listener->Stop();
}

TEST(Listener, LocalhostIsAnAddressOfThatName) {
  const auto listener = Bound({.host = "localhost"});
  ASSERT_NE(listener, nullptr);
  listener->Start(Greet);
  EXPECT_EQ(Connection(ListenAddress{.host = "127.0.0.1", .port = listener->address().port}).ReadAll(), "hi");
}

TEST(Listener, APortThatIsTakenIsRefusedAndFreeAfterStop) {
  const auto first = Bound(kAnyPort);
  ASSERT_NE(first, nullptr);
  ExpectRefused(first->address(), std::strerror(EADDRINUSE));
  const ListenAddress address = first->address();
  first->Start(Greet);
  first->Stop();
  EXPECT_NE(Bound(address), nullptr);
}

TEST(Listener, AnAddressOfAnotherMachineIsRefused) {
  ExpectRefused({.host = "192.0.2.1", .port = 1}, std::strerror(EADDRNOTAVAIL));
}

TEST(Listener, AUnixSocketIsThereWhileItIsListenedOn) {
  TempDir temp;
  const ListenAddress address = UnixAt(temp / "socket");
  auto listener = Bound(address);
  ASSERT_NE(listener, nullptr);
  listener->Start(Greet);
  EXPECT_EQ(Connection(address).ReadAll(), "hi");
  ExpectRefused(address, std::strerror(EADDRINUSE));
  EXPECT_EQ(Connection(address).ReadAll(), "hi") << "the first has lost its socket";
  listener.reset();
  EXPECT_FALSE(std::filesystem::exists(address.unix_path));
}

TEST(Listener, AUnixSocketThatNobodyListensOnIsReplaced) {
  TempDir temp;
  const ListenAddress address = UnixAt(temp / "socket");
  {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    address.unix_path.copy(name.sun_path, sizeof(name.sun_path) - 1);
    const Descriptor stale(socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(bind(stale.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
  }
  const auto listener = Bound(address);
  ASSERT_NE(listener, nullptr);
  listener->Start(Greet);
  EXPECT_EQ(Connection(address).ReadAll(), "hi");
}

TEST(Listener, WhatIsNoSocketStaysWhereItIs) {
  TempDir temp;
  std::ofstream(temp / "file") << "x";
  std::filesystem::create_directory(temp / "folder");
  std::filesystem::create_symlink(temp / "nowhere", temp / "dangling");
  for (const char* name : {"file", "folder", "dangling"}) {
    ExpectRefused(UnixAt(temp / name), "there is a file of that name, which is no socket");
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::symlink_status(temp / name))) << name;
  }
  ExpectRefused(UnixAt(temp / "missing/socket"), std::strerror(ENOENT));
  ExpectRefused(UnixAt(temp / "file/socket"), std::strerror(ENOTDIR));
}

TEST(Listener, BreaksTheConnectionsThatCameThisWayAndNoOther) {
  TempDir temp;
  for (const ListenAddress& address : {kAnyPort, UnixAt(temp / "socket")}) {
    const auto listener = Bound(address);
    const auto other = Bound(kAnyPort);
    ASSERT_TRUE(listener != nullptr && other != nullptr);
    std::promise<int> taken;
    std::promise<int> taken_by_other;
    listener->Start([&](int socket) { taken.set_value(socket); });
    other->Start([&](int socket) { taken_by_other.set_value(socket); });
    Connection of_other(other->address());
    Connection broken(listener->address());
    const Descriptor server_side(taken.get_future().get());
    Descriptor of_other_server_side(taken_by_other.get_future().get());
    listener->Stop();
    listener->BreakConnections();
    EXPECT_EQ(broken.ReadAll(), "");
    Greet(of_other_server_side.Release());
    EXPECT_EQ(of_other.ReadAll(), "hi");
  }
}

// Lowers the limit of this process's descriptors, until the end of the test.
class DescriptorLimit {
 public:
  DescriptorLimit() { getrlimit(RLIMIT_NOFILE, &before_); }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }
  void Set(int limit) const {
    const rlimit lowered{static_cast<rlim_t>(limit), before_.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &lowered), 0);
  }
  void Restore() const { ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }
  // The number that the next descriptor gets.
  static int Next() { return Descriptor(eventfd(0, 0)).get(); }

 private:
  rlimit before_{};
};

class LineCounter final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  support::Shared<int> lines{0};

 private:
  void sink_it_(const spdlog::details::log_msg&) override {
    lines.Update([](int& count) { ++count; });
  }
  void flush_() override {}
};

// grpc/grpc#33672: gRPC's own listener is deaf for good after this.
TEST(Listener, TakesConnectionsAgainAfterThereWasNoDescriptor) {
  const auto listener = Bound(kAnyPort);
  ASSERT_NE(listener, nullptr);
  Connection waiting;
  Connection late;
  {
    const DescriptorLimit limit;
    const auto log = std::make_shared<LineCounter>();
    spdlog::default_logger()->sinks().push_back(log);
    listener->Start(Greet);
    EXPECT_EQ(Connection(listener->address()).ReadAll(), "hi");
    // The same lines run once while there are descriptors: UBSan takes some to look at a type that is new to it.
    const auto other = Bound(kAnyPort);
    other->Start(Greet);
    Connection refused;
    limit.Set(DescriptorLimit::Next() + kReserved);
    refused.Connect(other->address());
    EXPECT_EQ(refused.ReadAll(), "");
    limit.Set(DescriptorLimit::Next());
    waiting.Connect(listener->address());
    log->lines.Await([](int lines) { return lines > 1; });
    spdlog::default_logger()->sinks().pop_back();
    limit.Restore();
    EXPECT_EQ(waiting.ReadAll(), "hi");
  }
  late.Connect(listener->address());
  EXPECT_EQ(late.ReadAll(), "hi");
}

TEST(Listener, TheLastDescriptorsAreNotForConnections) {
  const auto listener = Bound(kAnyPort);
  ASSERT_NE(listener, nullptr);
  listener->Start(Greet);
  const DescriptorLimit limit;
  Connection refused;
  limit.Set(DescriptorLimit::Next() + kReserved);
  refused.Connect(listener->address());
  EXPECT_EQ(refused.ReadAll(), "") << "closed at once";
  Connection taken;
  limit.Set(DescriptorLimit::Next() + kReserved + 1);
  taken.Connect(listener->address());
  EXPECT_EQ(taken.ReadAll(), "hi");
}

}  // namespace
}  // namespace ringd::server
