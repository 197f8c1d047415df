// One Watch as a source of messages: what it is safe to do with it while it ends.
#include "client/local/watch_call.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "grpcpp/create_channel.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "tests/support/shared.h"

namespace ringd {
namespace {

// Answers each Watch with one message and its end.
class OneMessage final : public v1::Directory::CallbackService {
 public:
  grpc::ServerWriteReactor<v1::WatchResponse>* Watch(grpc::CallbackServerContext*, const v1::WatchRequest*) override {
    class Stream final : public grpc::ServerWriteReactor<v1::WatchResponse> {
     public:
      Stream() {
        response_.mutable_heartbeat();
        StartWriteAndFinish(&response_, {}, {grpc::StatusCode::UNAVAILABLE, "ends"});
      }
      void OnDone() override { delete this; }

     private:
      v1::WatchResponse response_;
    };
    return new Stream;
  }
};

class WatchCallTest : public testing::Test {
 protected:
  WatchCallTest() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    channel_ = grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials());
    call_ = std::make_unique<WatchCall>(v1::Directory::NewStub(channel_), v1::WatchRequest(),
                                        [this](WatchCall*, WatchCall::Happening what) {
                                          inbox_.Update([&](auto& inbox) { inbox.push_back(std::move(what)); });
                                        });
    call_->Start();
  }

  WatchCall::Happening Await(size_t number) {
    return inbox_.Await([number](const auto& inbox) { return inbox.size() > number; })[number];
  }
  // What the server sent before this has come.
  void RoundTrips() {
    const auto stub = v1::Directory::NewStub(channel_);
    for (int i = 0; i < 20; ++i) {
      grpc::ClientContext context;
      v1::ListRingsResponse response;
      EXPECT_EQ(stub->ListRings(&context, {}, &response).error_code(), grpc::StatusCode::UNIMPLEMENTED);
    }
  }

  OneMessage service_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  support::Shared<std::vector<WatchCall::Happening>> inbox_;
  std::unique_ptr<WatchCall> call_;
};

TEST_F(WatchCallTest, ACallThatTheServerEndedIsThereUntilItsMessageWasTaken) {
  EXPECT_TRUE(std::holds_alternative<WatchCall::Read>(Await(0)));
  RoundTrips();
  EXPECT_EQ(inbox_.Get().size(), 1u) << "done, and Next would touch what is gone";
  EXPECT_TRUE(call_->response().has_heartbeat());
  call_->Next();
  const auto done = std::get<WatchCall::Done>(Await(1));
  EXPECT_EQ(done.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(done.status.error_message(), "ends");
}

TEST_F(WatchCallTest, ACancelledCallEndsWithItsNext) {
  EXPECT_TRUE(std::holds_alternative<WatchCall::Read>(Await(0)));
  call_->Cancel();
  RoundTrips();
  EXPECT_EQ(inbox_.Get().size(), 1u);
  call_->Next();
  EXPECT_TRUE(std::holds_alternative<WatchCall::Done>(Await(1)));
}

}  // namespace
}  // namespace ringd
