// SQLite's log, looked at before SQLite does: bytes as they are, bytes under a header that is right, and logs that are
// made here and then damaged, for which it is known what must be found.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/sqlite_log_check.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/inputs.h"

namespace ringd::server {
namespace {

using fuzz::Check;
using fuzz::Input;

constexpr size_t kHeaderBytes = 32;
constexpr size_t kFrameHeaderBytes = 24;

std::string BigEndian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

// The running checksum of the format.
class Sum {
 public:
  explicit Sum(bool big_endian) : big_endian_(big_endian) {}

  std::string Add(const std::string& bytes) {
    for (size_t i = 0; i + 8 <= bytes.size(); i += 8) {
      a_ += Word(bytes, i) + b_;
      b_ += Word(bytes, i + 4) + a_;
    }
    return BigEndian(a_) + BigEndian(b_);
  }

 private:
  uint32_t Word(const std::string& bytes, size_t at) const {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) {
      value = value << 8 | static_cast<unsigned char>(bytes[at + (big_endian_ ? i : 3 - i)]);
    }
    return value;
  }

  const bool big_endian_;
  uint32_t a_ = 0;
  uint32_t b_ = 0;
};

constexpr uint32_t MagicOf(bool big_endian) { return 0x377f0682 | (big_endian ? 1 : 0); }

std::string WithChecksum(const std::string& header, bool big_endian) { return header + Sum(big_endian).Add(header); }

struct Log {
  std::string bytes;
  size_t frame_bytes = 0;

  size_t StartOf(size_t frame) const { return kHeaderBytes + frame * frame_bytes; }
  // Whether a frame is the last of a transaction.
  bool Ends(size_t frame) const { return bytes.compare(StartOf(frame) + 4, 4, BigEndian(0)) != 0; }
};

// Up to 16 frames: a byte each, which is their content, and whose last bit ends a transaction.
Log MadeOf(Input& input, bool big_endian) {
  const size_t page = size_t{512} << input.Byte() % 3;
  const std::string salt = BigEndian(input.Number()) + BigEndian(input.Number());
  Sum sum(big_endian);
  const std::string header = BigEndian(MagicOf(big_endian)) + BigEndian(3'007'000) +
                             BigEndian(static_cast<uint32_t>(page)) + BigEndian(0) + salt;
  Log log{.bytes = header + sum.Add(header), .frame_bytes = kFrameHeaderBytes + page};
  for (int left = input.Byte() % 17; left > 0; --left) {
    const uint8_t content = input.Byte();
    const std::string head = BigEndian(1) + BigEndian(content % 2);
    const std::string body(page, static_cast<char>(content));
    sum.Add(head);
    log.bytes += head + salt + sum.Add(body) + body;
  }
  return log;
}

// Cuts the log, then flips bits: up to three bytes, each in a place of its own. Answers the places.
std::vector<size_t> Damage(Input& input, Log& log) {
  log.bytes.resize(log.bytes.size() - std::min<size_t>(input.Number(), log.bytes.size()));
  std::vector<size_t> places;
  for (int left = input.Byte() % 4; left > 0 && !log.bytes.empty(); --left) {
    const size_t place = input.Number() % log.bytes.size();
    const auto bits = static_cast<char>(input.Byte() | 1);
    if (std::count(places.begin(), places.end(), place) > 0) continue;
    log.bytes[place] = static_cast<char>(log.bytes[place] ^ bits);
    places.push_back(place);
  }
  return places;
}

// What must be found, by what sqlite_log_check.h promises.
std::optional<size_t> Expected(const Log& log, const std::vector<size_t>& places) {
  if (log.bytes.size() < kHeaderBytes + kFrameHeaderBytes) return std::nullopt;
  if (std::any_of(places.begin(), places.end(), [](size_t place) { return place < kHeaderBytes; })) return 0;
  const size_t frames = (log.bytes.size() - kHeaderBytes) / log.frame_bytes;
  const auto touched = [&](size_t frame, size_t first, size_t last) {
    return std::any_of(places.begin(), places.end(), [&](size_t place) {
      return place >= log.StartOf(frame) + first && place < log.StartOf(frame) + last;
    });
  };
  size_t wrong = 0;
  while (wrong < frames && !touched(wrong, 0, log.frame_bytes)) ++wrong;
  for (size_t frame = wrong; frame + 1 < frames; ++frame) {
    const bool known = !touched(frame, 8, kFrameHeaderBytes);  // its salt and its checksum
    if (log.Ends(frame) && known && !touched(frame + 1, 0, log.frame_bytes)) return log.StartOf(wrong);
  }
  return std::nullopt;
}

void JudgeMade(Input& input, bool big_endian) {
  Log log = MadeOf(input, big_endian);
  const std::vector<size_t> places = Damage(input, log);
  const auto found = FindLogDamage(log.bytes);
  Check(found == Expected(log, places), "the first damage before an acknowledged change is found, and nothing else",
        found.has_value() ? std::to_string(*found) : "nothing found");
}

}  // namespace
}  // namespace ringd::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ringd::server;
  namespace fuzz = ringd::fuzz;
  Input input(data, size);
  const uint8_t kind = input.Byte();
  const bool big_endian = (kind & 1) != 0;
  if (kind >= fuzz::kMade) {
    JudgeMade(input, big_endian);
    return 0;
  }
  std::string log(input.Rest());
  if (kind >= fuzz::kHeaded && log.size() >= kHeaderBytes) {
    log = WithChecksum(BigEndian(MagicOf(big_endian)) + log.substr(4, 20), big_endian) + log.substr(kHeaderBytes);
  }
  const auto found = FindLogDamage(log);
  Check(!found.has_value() || *found < log.size(), "damage is inside the log");
  return 0;
}
