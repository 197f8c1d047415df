#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "client/ringctl/node_file.h"
#include "client/ringctl/table.h"
#include "ringd/v1/directory.pb.h"

namespace ringd::ctl {

// NodeDifference is what has to happen to the nodes of a ring, so that they are those of a file. Pure functions.
struct NodeDifference {
  // Nodes that differ, before and after, in order of id. Output-only fields are absent.
  std::vector<v1::NodeDelta> nodes;
  int added = 0;
  int updated = 0;
  int removed = 0;
};

// DifferenceOf compares all nodes of `ring` with all of `file`. A field that the file does not write has the value that
// it would have in a new node: the ring's default_weight, the id as hash_key, else nothing. FAILED_PRECONDITION, with a
// text that names file and line, for another hash_key of a node that is there: it cannot be changed.
absl::StatusOr<NodeDifference> DifferenceOf(const v1::GetRingResponse& ring, const NodeFile& file);

// RequestOf is the one change that makes the difference; its options are not filled in.
v1::ApplyChangesRequest RequestOf(const std::string& ring, const NodeDifference& difference);

// DifferenceRows has a row for each field that changes: "add", "update" or "remove", id, field, before, after. A key of
// the metadata is a field of its own, "metadata.KEY".
Rows DifferenceRows(const NodeDifference& difference);

// CountText is such as "2 added, 1 removed"; empty where nothing differs.
std::string CountText(const NodeDifference& difference);

}  // namespace ringd::ctl
