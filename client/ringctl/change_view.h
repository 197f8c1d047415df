#pragma once

#include <string>

#include "client/ringctl/options.h"
#include "client/ringctl/table.h"

namespace ringd::ctl {

// ChangeRows has a row a change: version, time, actor, what it did, reason. Times are UTC, to the second in a table and
// whole in tsv.
Rows ChangeRows(const google::protobuf::RepeatedPtrField<v1::ChangeRecord>& changes, Format format);

// What a change did, in a line: one node with its fields, many nodes by their number, settings by their names.
std::string ChangeText(const v1::ChangeRecord& change);

}  // namespace ringd::ctl
