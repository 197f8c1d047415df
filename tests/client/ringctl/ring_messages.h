// A ring as the directory answers it, for tests of what ringctl makes of that.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "proto/codec.h"
#include "ring/ring.h"

namespace ringd::ctl {

inline ring::Ring RingWith(const ring::Placement& placement, std::vector<ring::Node> nodes) {
  for (ring::Node& node : nodes) {
    if (node.hash_key.empty()) node.hash_key = node.id;
  }
  auto ring = ring::Ring::Create({.placement = placement, .default_weight = 1}, std::move(nodes));
  EXPECT_TRUE(ring.ok()) << ring.status();
  return *std::move(ring);
}

inline v1::GetRingResponse MessageOf(const ring::Ring& ring) {
  v1::GetRingResponse response;
  v1::Ring& out = *response.mutable_ring();
  out.set_name("r");
  ToProto(ring.settings().placement, out.mutable_placement());
  out.set_default_weight(ring.settings().default_weight);
  ToProto(ring.checksum(), out.mutable_checksum());
  for (size_t i = 0; i < ring.node_count(); ++i) {
    ToProto(ring.node(i), ring.table()->ShareOf(i), response.add_nodes());
  }
  return response;
}

}  // namespace ringd::ctl
