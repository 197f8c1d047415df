// A Directory with a store, a clock and randomness of the test's own, and short words for what is done to it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "ring/error.h"
#include "server/directory.h"
#include "server/memory_store.h"

namespace ringd::server {

inline ring::AddNode AddOp(const std::string& id, uint32_t weight = 1, const std::string& address = "") {
  return ring::AddNode{.node = {.id = id, .address = address, .weight = weight}};
}
inline ring::RemoveNode RemoveOp(const std::string& id) { return ring::RemoveNode{.id = id}; }
inline ring::UpdateNode WeightOp(const std::string& id, uint32_t weight) {
  ring::UpdateNode update;
  update.id = id;
  update.weight = weight;
  return update;
}

inline Mutation Create(const std::string& ring) { return {.ring = ring, .what = CreateRing{}, .actor = "test"}; }
inline Mutation CreateSlots(const std::string& ring, uint32_t owners = 1, uint32_t slot_bits = ring::kMinSlotBits) {
  const ring::SlotsSettings slots{.slot_bits = slot_bits, .owners = owners, .hash_tag = ""};
  return {.ring = ring, .what = CreateRing{.settings = {.placement = slots}}, .actor = "test"};
}
inline Mutation Delete(const std::string& ring) { return {.ring = ring, .what = DeleteRing{}, .actor = "test"}; }
inline Mutation Change(const std::string& ring, std::vector<ring::Operation> operations) {
  return {.ring = ring, .what = ChangeNodes{std::move(operations)}, .actor = "test"};
}
inline Mutation Add(const std::string& ring, const std::string& node, uint32_t weight = 1) {
  return Change(ring, {AddOp(node, weight)});
}
inline Mutation Update(const std::string& ring, UpdateRing update) {
  return {.ring = ring, .what = std::move(update), .actor = "test"};
}
inline Mutation Restore(const std::string& ring, const ring::Version& version) {
  return {.ring = ring, .what = RestoreVersion{version}, .actor = "test"};
}
inline Mutation Forced(Mutation mutation) {
  mutation.force = true;
  return mutation;
}
inline Mutation Checked(Mutation mutation) {
  mutation.validate_only = true;
  return mutation;
}
// As a request under an id; the fingerprint stands for its content.
inline Mutation WithId(Mutation mutation, const std::string& request_id, uint64_t fingerprint) {
  mutation.request_id = request_id;
  mutation.request_fingerprint = fingerprint;
  return mutation;
}

inline std::vector<std::string> NodeIds(const RingState& state) {
  std::vector<std::string> ids;
  for (const ring::NodePtr& node : state.ring.table()->nodes) ids.push_back(node->id);
  return ids;
}

// Starts on an empty MemoryStore at the clock's zero, so that epochs are 1, 2, 3... until the test moves the clock.
class TestDirectory {
 public:
  explicit TestDirectory(DirectoryOptions options = {})
      : own_store_(std::make_unique<MemoryStore>([this](const auto& writes) {
          bursts.push_back(writes.size());
          return store_verdict;
        })),
        store_(own_store_.get()),
        options_(std::move(options)) {
    Reopen();
  }
  TestDirectory(Store& store, DirectoryOptions options) : store_(&store), options_(std::move(options)) { Reopen(); }
  TestDirectory(const TestDirectory&) = delete;

  // As if the server had started anew on the same store.
  void Reopen() {
    options_.clock = [this] { return now; };
    options_.random = [this] { return random; };
    options_.on_published = [this](std::span<const std::string> rings) {
      published.emplace_back(rings.begin(), rings.end());
      if (on_published) on_published(rings);
    };
    options_.on_writable = [this](const absl::Status& status) { writable.push_back(status.ok()); };
    directory_.reset();
    auto opened = Directory::Open(*store_, options_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    directory_ = *std::move(opened);
  }

  Directory& operator*() { return *directory_; }
  Directory* operator->() { return directory_.get(); }
  Store& store() { return *store_; }

  absl::StatusOr<MutationResult> Try(const Mutation& mutation) {
    return directory_->Commit(std::span(&mutation, 1)).front();
  }
  absl::Status Refused(const Mutation& mutation) {
    auto result = Try(mutation);
    EXPECT_FALSE(result.ok()) << "was accepted at " << ToString(result->version);
    return result.status();
  }
  MutationResult Do(const Mutation& mutation) {
    auto result = Try(mutation);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : MutationResult{};
  }
  // Creates a ring with nodes of weight 1; it is at revision 1 + the number of nodes.
  void Make(const std::string& ring, const std::vector<std::string>& nodes = {}) {
    Do(Create(ring));
    for (const std::string& node : nodes) Do(Add(ring, node));
  }
  // Takes a ring to this revision by changing the weight of its node `node`.
  void ChangeUpTo(const std::string& ring, const std::string& node, uint64_t revision) {
    for (uint64_t next = State(ring)->head.version.revision + 1; next <= revision; ++next) {
      Do(Forced(Change(ring, {WeightOp(node, 1 + next % 2)})));
    }
  }

  RingStatePtr State(const std::string& ring) const {
    auto state = directory_->Find(ring);
    EXPECT_TRUE(state.ok()) << state.status();
    return *state;
  }
  std::string At(const std::string& ring) const {
    const auto state = directory_->Find(ring);
    return state.ok() ? ToString((*state)->head.version) : "absent";
  }
  std::vector<std::string> Nodes(const std::string& ring) const { return NodeIds(*State(ring)); }

  absl::Time now = absl::UnixEpoch();
  uint32_t random = 0;
  // The answer of the store to the next Commits; of its own MemoryStore alone.
  absl::Status store_verdict;
  std::vector<size_t> bursts;  // how many writes each Commit of the MemoryStore had
  std::vector<std::vector<std::string>> published;
  std::vector<bool> writable;
  std::function<void(std::span<const std::string>)> on_published;

 private:
  std::unique_ptr<MemoryStore> own_store_;
  Store* store_;
  DirectoryOptions options_;
  std::unique_ptr<Directory> directory_;
};

}  // namespace ringd::server
