#include "server/watch_messages.h"

#include "ringd/v1/directory.pb.h"
#include "server/responses.h"

namespace ringd::server {
namespace {

grpc::Slice Serialise(const WatchEvent& event) {
  v1::WatchResponse response;
  ToProto(event, &response);
  const grpc::Slice bytes(response.ByteSizeLong());
  response.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(bytes.begin()));
  return bytes;
}

}  // namespace

grpc::Slice WatchMessages::Of(const WatchEvent& event) {
  const std::optional<Key> key = KeyOf(event);
  if (!key.has_value()) return Serialise(event);
  const std::shared_ptr<Message> message = Find(*key);
  std::call_once(message->once, [&] {
    message->bytes = Serialise(event);
    serialised_++;
    Keep(*key, message->bytes.size() + kEntryBytes);
  });
  return message->bytes;
}

std::optional<WatchMessages::Key> WatchMessages::KeyOf(const WatchEvent& event) {
  if (const auto* change = std::get_if<ChangeEvent>(&event)) {
    return Key{.ring = (*change)->ring, .version = (*change)->record.version};
  }
  if (const auto* chunk = std::get_if<SnapshotChunk>(&event)) {
    return Key{.ring = chunk->head.name,
               .version = chunk->head.version,
               .kind = chunk->rewound ? Key::Kind::kRewoundChunk : Key::Kind::kChunk,
               .chunk = chunk->number};
  }
  return std::nullopt;
}

std::shared_ptr<WatchMessages::Message> WatchMessages::Find(const Key& key) {
  const MutexLock lock(mutex_);
  std::shared_ptr<Message>& message = messages_[key];
  if (message == nullptr) message = std::make_shared<Message>();
  return message;
}

void WatchMessages::Keep(const Key& key, size_t bytes) {
  const MutexLock lock(mutex_);
  kept_.emplace_back(key, bytes);
  kept_bytes_ += bytes;
  while (kept_bytes_ > kKeptBytes) {
    messages_.erase(kept_.front().first);
    kept_bytes_ -= kept_.front().second;
    kept_.pop_front();
  }
}

}  // namespace ringd::server
