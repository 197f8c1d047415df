#include "client/local/thread_cached.h"

#include <vector>

namespace ringd {
namespace {

struct Places {
  Mutex mutex;
  std::vector<size_t> free ABSL_GUARDED_BY(mutex);
  size_t taken ABSL_GUARDED_BY(mutex) = 0;
};

// Never destroyed: objects of other files may outlive it.
Places& TheOnes() {
  static auto* const places = new Places;
  return *places;
}

}  // namespace

size_t CachePlaces::Take() {
  Places& places = TheOnes();
  const MutexLock lock(places.mutex);
  if (places.free.empty()) return places.taken++;
  const size_t place = places.free.back();
  places.free.pop_back();
  return place;
}

void CachePlaces::GiveBack(size_t place) {
  Places& places = TheOnes();
  const MutexLock lock(places.mutex);
  places.free.push_back(place);
}

}  // namespace ringd
