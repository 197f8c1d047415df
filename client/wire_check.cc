#include "client/wire_check.h"

#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "ring/error.h"
#include "ring/utf8.h"

namespace ringd {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// `path` leads to `message`, such as "node."; empty for the request itself.
grpc::Status CheckBelow(const std::string& path, const Message& message) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (!is_message && field->type() != FieldDescriptor::TYPE_STRING) continue;
    const bool repeated = field->is_repeated();
    const int count = repeated ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (is_message) {
        const Message& child =
            repeated ? reflection.GetRepeatedMessage(message, field, i) : reflection.GetMessage(message, field);
        grpc::Status status = CheckBelow(path + field->name() + ".", child);
        if (!status.ok()) return status;
        continue;
      }
      const std::string text =
          repeated ? reflection.GetRepeatedString(message, field, i) : reflection.GetString(message, field);
      if (ring::IsValidUtf8(text)) continue;
      return {grpc::StatusCode::INVALID_ARGUMENT,
              path + field->name() + " " + ring::Quote(text) + " is not valid UTF-8"};
    }
  }
  return grpc::Status::OK;
}

}  // namespace

grpc::Status CheckWire(const Message& request) { return CheckBelow("", request); }

}  // namespace ringd
