// Messages of inputs, for targets that parse them.
#pragma once

#include <google/protobuf/message_lite.h>
#include <google/protobuf/stubs/logging.h>

#include <string_view>

namespace ringd::fuzz {

// protobuf logs each text that is no UTF-8, which would be most of what a target says.
inline void SilenceProtobuf() {
  [[maybe_unused]] static auto* const kBefore = google::protobuf::SetLogHandler(nullptr);
}

// Whether the bytes are a message.
inline bool Parse(std::string_view bytes, google::protobuf::MessageLite* message) {
  SilenceProtobuf();
  return message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace ringd::fuzz
