#include "client/ringctl/key_reader.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace ringd::ctl {
namespace {

constexpr std::size_t kReadSize = 256 << 10;
constexpr int kIdleMillis = 20;

}  // namespace

KeyReader::Event KeyReader::Next(WhenIdle when_idle) {
  while (true) {
    const std::size_t end = buffer_.find(separator_, scanned_);
    const bool found = end != std::string::npos;
    if (found || (ended_ && begin_ < buffer_.size())) {
      const std::size_t length = (found ? end : buffer_.size()) - begin_;
      key_ = std::string_view(buffer_).substr(begin_, length);
      begin_ = scanned_ = found ? end + 1 : buffer_.size();
      return Event::kKey;
    }
    if (ended_) return Event::kEnd;
    if (buffer_.size() - begin_ > kLongestKey) return Event::kTooLong;

    if (when_idle == WhenIdle::kReturn) {
      pollfd input{fd_, POLLIN, 0};
      if (poll(&input, 1, kIdleMillis) == 0) return Event::kIdle;
    }
    buffer_.erase(0, begin_);
    begin_ = 0;
    scanned_ = buffer_.size();
    buffer_.resize(scanned_ + kReadSize);
    ssize_t count = 0;
    do {
      count = read(fd_, buffer_.data() + scanned_, kReadSize);
    } while (count < 0 && errno == EINTR);
    buffer_.resize(scanned_ + static_cast<std::size_t>(count > 0 ? count : 0));
    if (count < 0) return Event::kFailed;
    ended_ = count == 0;
  }
}

}  // namespace ringd::ctl
