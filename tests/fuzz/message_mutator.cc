#include "tests/fuzz/message_mutator.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/messages.h"

// Of libFuzzer; absent where it is not linked, and not called there.
extern "C" __attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace ringd::fuzz {
namespace {

using google::protobuf::Message;
using google::protobuf::Reflection;

std::vector<Step> StepsOf(Input input) {
  std::vector<Step> steps;
  while (!input.AtEnd()) {
    const uint8_t kind = input.Byte();
    steps.push_back({kind, std::string(input.Piece())});
  }
  return steps;
}

}  // namespace

void MessageMutator::Mutate(Message* message) {
  const auto* descriptor = message->GetDescriptor();
  if (descriptor->field_count() == 0) return;
  // Mostly what is there already: what is not is more often than not another branch of a oneof.
  std::vector<const Field*> fields;
  message->GetReflection()->ListFields(*message, &fields);
  const Field* field = fields.empty() || Below(3) == 0
                           ? descriptor->field(static_cast<int>(Below(static_cast<size_t>(descriptor->field_count()))))
                           : fields[Below(fields.size())];
  field->is_repeated() ? MutateRepeated(message, field) : MutateSingle(message, field);
}

void MessageMutator::MutateSingle(Message* message, const Field* field) {
  const Reflection& reflection = *message->GetReflection();
  if (Below(8) == 0) return reflection.ClearField(message, field);
  if (field->cpp_type() != Field::CPPTYPE_MESSAGE) return Put(message, field);
  Message* inner = reflection.MutableMessage(message, field);
  if (Below(8) != 0) Mutate(inner);
}

void MessageMutator::MutateRepeated(Message* message, const Field* field) {
  const Reflection& reflection = *message->GetReflection();
  const int size = reflection.FieldSize(*message, field);
  const int at = size == 0 ? 0 : static_cast<int>(Below(static_cast<size_t>(size)));
  const bool is_message = field->cpp_type() == Field::CPPTYPE_MESSAGE;
  switch (size == 0 ? 0 : Below(5)) {
    case 0:
      if (!is_message) return Put(message, field);
      return Mutate(reflection.AddMessage(message, field));
    case 1:
      reflection.SwapElements(message, field, at, size - 1);
      return reflection.RemoveLast(message, field);
    case 2:
      return reflection.SwapElements(message, field, at, static_cast<int>(Below(static_cast<size_t>(size))));
    case 3:
      if (!is_message) return Put(message, field);
      return reflection.AddMessage(message, field)->CopyFrom(reflection.GetRepeatedMessage(*message, field, at));
    default:
      if (is_message) return Mutate(reflection.MutableRepeatedMessage(message, field, at));
      Put(message, field);
      reflection.SwapElements(message, field, at, size);
      return reflection.RemoveLast(message, field);
  }
}

void MessageMutator::Put(Message* message, const Field* field) {
  const Reflection& reflection = *message->GetReflection();
  const auto put = [&](auto set, auto add, auto value) {
    field->is_repeated() ? (reflection.*add)(message, field, std::move(value))
                         : (reflection.*set)(message, field, std::move(value));
  };
  switch (field->cpp_type()) {
    case Field::CPPTYPE_INT32:
      return put(&Reflection::SetInt32, &Reflection::AddInt32, static_cast<int32_t>(Number()));
    case Field::CPPTYPE_INT64:
      return put(&Reflection::SetInt64, &Reflection::AddInt64, static_cast<int64_t>(Number()));
    case Field::CPPTYPE_UINT32:
      return put(&Reflection::SetUInt32, &Reflection::AddUInt32, static_cast<uint32_t>(Number()));
    case Field::CPPTYPE_UINT64:
      return put(&Reflection::SetUInt64, &Reflection::AddUInt64, Number());
    case Field::CPPTYPE_BOOL:
      return put(&Reflection::SetBool, &Reflection::AddBool, Below(2) == 0);
    case Field::CPPTYPE_ENUM:
      return put(&Reflection::SetEnumValue, &Reflection::AddEnumValue, static_cast<int>(Below(5)));
    case Field::CPPTYPE_DOUBLE:
      return put(&Reflection::SetDouble, &Reflection::AddDouble, static_cast<double>(Number()) / 7);
    case Field::CPPTYPE_FLOAT:
      return put(&Reflection::SetFloat, &Reflection::AddFloat, static_cast<float>(Number()));
    case Field::CPPTYPE_STRING:
      return put(&Reflection::SetString, &Reflection::AddString, Text());
    case Field::CPPTYPE_MESSAGE:
      return;
  }
}

uint64_t MessageMutator::Number() {
  switch (Below(4)) {
    case 0:
      return random_();
    case 1:
      return (uint64_t{1} << Below(64)) - Below(3);
    default:
      return Below(10);
  }
}

std::string MessageMutator::Text() {
  if (Below(4) != 0) return words_[Below(words_.size())];
  std::string text(Below(8) == 0 ? 250 + Below(10) : Below(12), 'x');
  for (char& c : text) c = static_cast<char>(Below(128));
  return text;
}

size_t MutateSteps(uint8_t* data, size_t size, size_t max_size, MessageMutator mutator,
                   const PrototypeOf& prototype_of) {
  std::vector<Step> steps = StepsOf({data, size});
  // Bytes that are no message have to be met too.
  if (steps.empty() || mutator.Below(8) == 0) return LLVMFuzzerMutate(data, size, max_size);
  const size_t at = mutator.Below(steps.size());
  switch (mutator.Below(10)) {
    case 0:
      steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 1:
      steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(mutator.Below(steps.size() + 1)), Step(steps[at]));
      break;
    case 2:
      std::swap(steps[at], steps[mutator.Below(steps.size())]);
      break;
    case 3:
      steps[at].kind = static_cast<uint8_t>(mutator.Below(256));
      break;
    case 4:
      steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(at), Step{static_cast<uint8_t>(mutator.Below(256)), ""});
      break;
    default:
      const Message* prototype = prototype_of(steps[at].kind);
      if (prototype == nullptr) break;
      const std::unique_ptr<Message> message(prototype->New());
      Parse(steps[at].bytes, message.get());
      for (size_t left = 1 + mutator.Below(3); left > 0; --left) mutator.Mutate(message.get());
      steps[at].bytes = message->SerializeAsString();
  }
  Output output;
  for (const Step& step : steps) output.Byte(step.kind).Piece(step.bytes);
  if (output.bytes().size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::copy(output.bytes().begin(), output.bytes().end(), data);
  return output.bytes().size();
}

}  // namespace ringd::fuzz
