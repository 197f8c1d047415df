// What lies on the disk: each record is decoded, or refused as damaged; what was decoded is written as it was read.
#include "ring/error.h"
#include "server/storage_codec.h"
#include "server/store_rules.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/inputs.h"
#include "tests/fuzz/messages.h"
#include "tests/server/store_test_data.h"

namespace ringd::server {
namespace {

using fuzz::Check;

bool Same(const ChangeRecord& a, const ChangeRecord& b) { return SameChange(a, b); }
template <class Value>
bool Same(const Value& a, const Value& b) {
  return a == b;
}

template <class Value>
void Judge(absl::StatusOr<Value> (*decode)(std::string_view), std::string (*encode)(const Value&),
           std::string_view bytes) {
  const absl::StatusOr<Value> value = decode(bytes);
  if (!value.ok()) {
    Check(absl::IsDataLoss(value.status()), "what is no record is DATA_LOSS", value.status().ToString());
    Check(ring::ReasonOf(value.status()) == kStoreCorrupt, "its reason is STORE_CORRUPT", value.status().ToString());
    return;
  }
  const std::string written = encode(*value);
  const absl::StatusOr<Value> again = decode(written);
  Check(again.ok(), "what was written is read", again.status().ToString());
  Check(Same(*again, *value), "what is read is what was written");
  Check(encode(*again) == written, "equal values have equal bytes");
}

}  // namespace
}  // namespace ringd::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ringd::server;
  ringd::fuzz::SilenceProtobuf();
  ringd::fuzz::Input input(data, size);
  const auto kind = static_cast<ringd::fuzz::RecordKind>(input.Byte() % ringd::fuzz::kRecordKinds);
  const std::string_view bytes = input.Rest();
  switch (kind) {
    case ringd::fuzz::RecordKind::kRing:
      Judge(DecodeRing, EncodeRing, bytes);
      break;
    case ringd::fuzz::RecordKind::kNode:
      Judge(DecodeNode, EncodeNode, bytes);
      break;
    case ringd::fuzz::RecordKind::kChange:
      Judge(DecodeChange, EncodeChange, bytes);
      break;
    case ringd::fuzz::RecordKind::kTombstone:
      Judge(DecodeTombstone, EncodeTombstone, bytes);
      break;
  }
  return 0;
}
