// Client against a directory that does as the test says.
#include "ringd/client.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "ringd/testing/fake_directory.h"

namespace ringd {
namespace {

class ClientTest : public ::testing::Test {
 protected:
  ClientTest() { EXPECT_EQ(directory_.SetRing("r", {{.id = "n1", .address = "a1"}, {.id = "n2"}}), absl::OkStatus()); }

  testing::FakeDirectory directory_;
  std::unique_ptr<Client> client_ = *Client::Connect({.endpoints = {directory_.endpoint()}});
};

TEST_F(ClientTest, LooksUp) {
  const auto result = client_->Lookup("r", "k", {.owners = 3});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->owners.size(), 2u);
  EXPECT_TRUE(result->owners_short);
  EXPECT_EQ(result->version, directory_.version("r"));
}

TEST_F(ClientTest, ABatchIsAnsweredInTheOrderOfItsKeys) {
  const std::array<std::string_view, 3> keys{"a", "b", "a"};
  const auto result = client_->BatchLookup("r", keys);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->owner(0), result->owner(2));
  EXPECT_EQ(result->owner(1), client_->Lookup("r", "b")->owners[0]);
  EXPECT_EQ(result->owners(1).size(), 1u);
}

TEST_F(ClientTest, ChangesNodes) {
  const auto added = client_->AddNode("r", {.id = "n3", .weight = 50});
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_EQ(added->version.revision, added->previous_version.revision + 1);
  const auto updated = client_->UpdateNode("r", {.id = "n3", .address = "a3"});
  ASSERT_TRUE(updated.ok()) << updated.status();
  EXPECT_EQ(updated->version, directory_.version("r"));
  const auto content = client_->GetRing("r");
  ASSERT_TRUE(content.ok()) << content.status();
  EXPECT_EQ(content->nodes[2], (Node{.id = "n3", .address = "a3", .weight = 50, .hash_key = "n3"}));
  EXPECT_EQ(content->shares.size(), 3u);
  ASSERT_TRUE(client_->RemoveNode("r", "n3").ok());
  EXPECT_EQ(client_->GetRing("r")->nodes.size(), 2u);
}

TEST_F(ClientTest, AnErrorKeepsCodeTextAndReason) {
  const absl::Status status = client_->Lookup("nosuch", "k").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(std::string(status.message()), "ring \"nosuch\" not found");
  EXPECT_EQ(ErrorReason(status), "RING_NOT_FOUND");
  EXPECT_EQ(ErrorReason(absl::NotFoundError("made elsewhere")), "");
}

TEST_F(ClientTest, WhatTheWireCannotCarryIsRefusedHere) {
  EXPECT_EQ(client_->AddNode("r", {.id = "\xFF"}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(client_->Lookup("\xFF", "k").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(client_->Lookup("r", "\xFF").ok()) << "keys are bytes";
}

TEST_F(ClientTest, UnavailableIsTriedAgainAndEndsAsUnavailable) {
  directory_.FailWith(absl::UnavailableError("not now"));
  const absl::Status status = client_->Lookup("r", "k").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(std::string(status.message()), "not now");
}

TEST_F(ClientTest, TheNextEndpointAnswersWhereOneIsDown) {
  testing::FakeDirectory down;
  down.Stop();
  const auto client = *Client::Connect({.endpoints = {down.endpoint(), directory_.endpoint()}});
  EXPECT_TRUE(client->Lookup("r", "k").ok());
  EXPECT_TRUE(client->AddNode("r", {.id = "n9"}).ok());
}

// B122 (grpc/grpc#10418): a call after the server's end is refused quickly, and not by its deadline.
TEST_F(ClientTest, ACallToAServerThatHasGoneIsUnavailable) {
  ASSERT_TRUE(client_->Lookup("r", "k").ok());
  directory_.Stop();
  const auto patient =
      *Client::Connect({.endpoints = {directory_.endpoint()}, .lookup_timeout = std::chrono::hours(1)});
  EXPECT_EQ(patient->Lookup("r", "k").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(client_->Lookup("r", "k").status().code(), absl::StatusCode::kUnavailable);
  directory_.Start();
  EXPECT_TRUE(client_->Lookup("r", "k").ok());
}

TEST(ClientConnect, RefusesWrongOptions) {
  EXPECT_EQ(Client::Connect({}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Client::Connect({.endpoints = {""}}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Client::Connect({.endpoints = {"a:1"}, .lookup_timeout = {}}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Client::Connect({.endpoints = {"a:1"}, .tls = TlsFiles{.cert_file = "c"}}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace ringd
