// MeteredStore: a Store that counts and times the commits of the one behind it.
//
// Threads and errors are those of the store behind it; Collect from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "prometheus/collectable.h"
#include "server/metric_families.h"
#include "server/store.h"

namespace ringd::server {

class MeteredStore final : public Store, public prometheus::Collectable {
 public:
  explicit MeteredStore(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  absl::StatusOr<StoreContents> Load() override { return store_->Load(); }
  std::vector<absl::Status> Commit(const std::vector<Write>& writes, absl::Time tombstones_before) override;
  absl::StatusOr<std::vector<ChangeRecord>> ReadChanges(std::string_view ring, uint64_t epoch, uint64_t first,
                                                        size_t max_count, size_t max_bytes) override {
    return store_->ReadChanges(ring, epoch, first, max_count, max_bytes);
  }
  absl::StatusOr<std::vector<ChangeRecord>> ReadEarlierChanges(std::string_view ring, uint64_t epoch, uint64_t last,
                                                               size_t max_count, size_t max_bytes) override {
    return store_->ReadEarlierChanges(ring, epoch, last, max_count, max_bytes);
  }
  absl::StatusOr<std::optional<ChangeRecord>> FindRequest(std::string_view ring, std::string_view request_id) override {
    return store_->FindRequest(ring, request_id);
  }

  // The time of commits, and how many the store refused: not those that lost a race to another writer.
  MetricFamilies Collect() const override;

 private:
  const std::unique_ptr<Store> store_;
  DurationCounts commits_;
  std::atomic<uint64_t> failures_ = 0;
};

}  // namespace ringd::server
