// How often this program has taken memory by operator new, and how much in all. Include it in one source file of a
// program that is not built with the thread sanitizer, which has operators of its own: without the label nogrpc.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace ringd::support {
inline std::size_t allocations = 0;
inline std::size_t allocated_bytes = 0;
}  // namespace ringd::support

// Not inlined: where one of a pair is and the other is not, g++ takes them for mismatched.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++ringd::support::allocations;
  ringd::support::allocated_bytes += size;
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
// AddressSanitizer has an operator of its own for arrays, which does not come by the other one.
[[gnu::noinline]] void* operator new[](std::size_t size) { return operator new(size); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
