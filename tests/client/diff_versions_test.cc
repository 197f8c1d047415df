// DiffVersions of the client, whose answer is a stream, against a server that breaks it.
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "ringd/client.h"
#include "ringd/v1/directory.grpc.pb.h"

namespace ringd {
namespace {

// Tells three ranges, one a message, and the movement with the last; each of the first `broken` streams breaks before
// it.
class Breaking final : public v1::Directory::Service {
 public:
  grpc::Status DiffVersions(grpc::ServerContext*, const v1::DiffVersionsRequest* request,
                            grpc::ServerWriter<v1::DiffVersionsResponse>* writer) override {
    calls++;
    for (uint64_t i = 0; i < 3; ++i) {
      if (i == 2 && calls <= broken) return {grpc::StatusCode::UNAVAILABLE, "draining"};
      v1::DiffVersionsResponse response;
      *response.mutable_from() = request->from();
      *response.mutable_to() = request->to();
      v1::MovedRange& moved = *response.add_ranges();
      moved.mutable_range()->set_first(10 * i);
      moved.mutable_range()->set_last(10 * i + 5);
      moved.set_to("n" + std::to_string(i));
      if (i == 2 && whole) response.mutable_movement()->set_moved_share(0.5);
      writer->Write(response);
    }
    return grpc::Status::OK;
  }

  std::atomic<int> calls = 0;
  std::atomic<int> broken = 0;
  std::atomic<bool> whole = true;
};

class DiffVersionsTest : public ::testing::Test {
 protected:
  DiffVersionsTest() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    client_ = *Client::Connect({.endpoints = {"127.0.0.1:" + std::to_string(port)}});
  }

  Breaking service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Client> client_;
};

TEST_F(DiffVersionsTest, TheMessagesOfAStreamAreOneAnswer) {
  const auto diff = client_->DiffVersions("r", {1, 2}, Version{1, 3});
  ASSERT_TRUE(diff.ok()) << diff.status();
  EXPECT_EQ(diff->from, (Version{1, 2}));
  EXPECT_EQ(diff->to, (Version{1, 3}));
  ASSERT_EQ(diff->ranges.size(), 3u);
  EXPECT_EQ(diff->ranges[1], (MovedRange{.first = 10, .last = 15, .from = std::nullopt, .to = "n1"}));
  EXPECT_EQ(diff->movement.moved_share, 0.5);
}

TEST_F(DiffVersionsTest, AStreamThatBreaksIsReadAnewAndNothingComesTwice) {
  service_.broken = 2;
  const auto diff = client_->DiffVersions("r", {1, 2});
  ASSERT_TRUE(diff.ok()) << diff.status();
  EXPECT_EQ(service_.calls, 3);
  EXPECT_EQ(diff->ranges.size(), 3u);
}

TEST_F(DiffVersionsTest, AnAnswerThatIsNotWholeIsAnError) {
  service_.whole = false;
  EXPECT_EQ(client_->DiffVersions("r", {1, 2}).status().code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace ringd
