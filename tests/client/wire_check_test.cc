#include "client/wire_check.h"

#include <gtest/gtest.h>

#include "ringd/v1/directory.pb.h"

namespace ringd {
namespace {

// B94: C++ protobuf would send invalid UTF-8 with only a log line.
TEST(CheckWire, FindsInvalidUtf8AtAnyDepth) {
  v1::AddNodeRequest request;
  request.set_ring("cache");
  request.mutable_node()->set_id("é");
  (*request.mutable_node()->mutable_metadata())["a"] = "b";
  EXPECT_TRUE(CheckWire(request).ok());
  (*request.mutable_node()->mutable_metadata())["a"] = "\xFF";
  const grpc::Status status = CheckWire(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "node.metadata.value \"\\xFF\" is not valid UTF-8");
}

TEST(CheckWire, NamesTheRing) {
  v1::GetRingRequest request;
  request.set_ring("a\xC3");
  EXPECT_EQ(CheckWire(request).error_message(), "ring \"a\\xC3\" is not valid UTF-8");
}

TEST(CheckWire, LeavesBytesAlone) {
  v1::LookupRequest request;
  request.set_key("\xFF");
  EXPECT_TRUE(CheckWire(request).ok());
}

}  // namespace
}  // namespace ringd
