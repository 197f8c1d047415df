// What the fuzz targets share. A target is one function over bytes:
//
//   extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
//
// In the preset `fuzz` libFuzzer calls it; in every other build replay.cc does, with the files of the corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "ring/utf8.h"

namespace ringd::fuzz {

// Ends the process where something does not hold, so that libFuzzer keeps the input.
inline void Check(bool holds, std::string_view what, std::string_view seen = "") {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %.*s", static_cast<int>(what.size()), what.data());
  if (!seen.empty()) std::fprintf(stderr, ": %.*s", static_cast<int>(seen.size()), seen.data());
  std::fputc('\n', stderr);
  std::abort();
}

// What people are shown is one line of UTF-8 that does nothing to a terminal.
inline void CheckShowable(std::string_view text) {
  for (std::string_view left = text; !left.empty();) {
    const ring::Utf8Char next = ring::ReadUtf8(left);
    Check(next.valid && !ring::IsUnsafeToShow(next.code), "a text is one line that may be shown", text);
    left.remove_prefix(next.length);
  }
}

// Takes an input apart. Behind its end there are zeros and empty pieces, so that every input means something.
class Input {
 public:
  explicit Input(std::string_view bytes) : rest_(bytes) {}
  Input(const uint8_t* data, size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  bool AtEnd() const { return rest_.empty(); }
  uint8_t Byte() {
    const std::string_view byte = Take(1);
    return byte.empty() ? 0 : static_cast<uint8_t>(byte.front());
  }
  // Two bytes, the lower one first.
  uint16_t Number() {
    const uint16_t low = Byte();
    return static_cast<uint16_t>(low | Byte() << 8);
  }
  // A number, then as many bytes.
  std::string_view Piece() { return Take(Number()); }
  std::string_view Rest() { return Take(rest_.size()); }

 private:
  std::string_view Take(size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view rest_;
};

// Puts an input together, for make_corpus.cc.
class Output {
 public:
  Output& Byte(uint8_t value) {
    bytes_ += static_cast<char>(value);
    return *this;
  }
  Output& Number(size_t value) { return Byte(static_cast<uint8_t>(value)).Byte(static_cast<uint8_t>(value >> 8)); }
  Output& Piece(std::string_view piece) {
    Number(piece.size());
    bytes_ += piece;
    return *this;
  }
  Output& Rest(std::string_view rest) {
    bytes_ += rest;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace ringd::fuzz
