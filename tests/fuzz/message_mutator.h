// Mutations that know what a message is: fields are set, cleared, repeated and changed by their types, so that what
// comes out is a message again. libFuzzer's own change bytes, of which nearly none of a nested message survives.
//
// Not thread-safe.
#pragma once

#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace ringd::fuzz {

class MessageMutator {
 public:
  // `words` are texts that mean something to the target.
  MessageMutator(unsigned int seed, std::span<const char* const> words) : random_(seed), words_(words) {}

  // Changes one thing in the message, at any depth.
  void Mutate(google::protobuf::Message* message);

  // A number below `end`, which is above 0.
  size_t Below(size_t end) { return std::uniform_int_distribution<size_t>(0, end - 1)(random_); }

 private:
  using Field = google::protobuf::FieldDescriptor;

  void MutateSingle(google::protobuf::Message* message, const Field* field);
  void MutateRepeated(google::protobuf::Message* message, const Field* field);
  // Sets a field that is no message, or adds to it where it is repeated.
  void Put(google::protobuf::Message* message, const Field* field);
  uint64_t Number();
  std::string Text();

  std::mt19937_64 random_;
  const std::span<const char* const> words_;
};

// One step of an input: a byte, then a piece (fuzz.h).
struct Step {
  uint8_t kind = 0;
  std::string bytes;
};
// The message that the piece of a step of this kind is, or null where it is none.
using PrototypeOf = std::function<const google::protobuf::Message*(uint8_t kind)>;

// For LLVMFuzzerCustomMutator, of targets whose inputs are steps.
size_t MutateSteps(uint8_t* data, size_t size, size_t max_size, MessageMutator mutator,
                   const PrototypeOf& prototype_of);

}  // namespace ringd::fuzz
