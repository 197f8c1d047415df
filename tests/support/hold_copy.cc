// Holds a local copy of a ring, with the library's defaults: hold_copy ENDPOINT RING. For each line that it reads it
// waits until the copy is in sync at the revision in it or above, and says so; it ends with its input.
#include <cstdint>
#include <iostream>
#include <string>

#include "ringd/local_ring.h"
#include "tests/support/shared.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  ringd::support::Shared<ringd::LocalRingStatus> status;
  const auto ring = ringd::LocalRing::Start(
      argv[2], {.directory = {.endpoints = {argv[1]}}, .on_change = [&](const ringd::LocalRingStatus& now) {
                  status.Update([&](ringd::LocalRingStatus& last) { last = now; });
                }});
  if (!ring.ok()) return 1;
  for (uint64_t revision = 0; std::cin >> revision;) {
    status.Await([&](const ringd::LocalRingStatus& now) {
      return now.state == ringd::LocalRingState::kInSync && now.version.revision >= revision;
    });
    std::cout << "at " << revision << std::endl;
  }
  return 0;
}
