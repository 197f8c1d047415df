#include "client/ringctl/wire_check.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

#include "client/ringctl/escape.h"
#include "client/ringctl/utf8.h"

namespace ringd::ctl {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

grpc::Status CheckText(const FieldDescriptor& field, const std::string& text) {
  if (IsValidUtf8(text)) return grpc::Status::OK;
  return {grpc::StatusCode::INVALID_ARGUMENT, fmt::format("{} {} is not valid UTF-8", field.name(), Quoted(text))};
}

}  // namespace

grpc::Status CheckWire(const Message& request) {
  const Reflection& reflection = *request.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(request, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (!is_message && field->type() != FieldDescriptor::TYPE_STRING) continue;
    const int count = field->is_repeated() ? reflection.FieldSize(request, field) : 1;
    for (int i = 0; i < count; ++i) {
      const bool repeated = field->is_repeated();
      const grpc::Status status = is_message
                                      ? CheckWire(repeated ? reflection.GetRepeatedMessage(request, field, i)
                                                           : reflection.GetMessage(request, field))
                                      : CheckText(*field, repeated ? reflection.GetRepeatedString(request, field, i)
                                                                   : reflection.GetString(request, field));
      if (!status.ok()) return status;
    }
  }
  return grpc::Status::OK;
}

}  // namespace ringd::ctl
