#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "client/ringctl/options.h"
#include "client/ringctl/table.h"

namespace ringd::ctl {

// How rings and nodes look as table and tsv. Shares are percentages in a table and fractions in tsv.

// ShareText is a part of the circle.
std::string ShareText(double share, Format format);

// TimeText is a moment, to the second in a table.
std::string TimeText(google::protobuf::Timestamp time, Format format);

// RingRows has a row a ring: name, version, placement, nodes, weight, points, imbalance, checksum.
Rows RingRows(const google::protobuf::RepeatedPtrField<v1::Ring>& rings);

// NodeRows has a row a node: id, weight, share, expected share, zone, address. `ring` is the one that they are of.
Rows NodeRows(const v1::Ring& ring, const google::protobuf::RepeatedPtrField<v1::Node>& nodes, Format format);

// RingBlock shows the settings of one ring, one a line.
std::string RingBlock(const v1::Ring& ring);

// RowsText is the rows as the table or tsv that `options` ask for.
std::string RowsText(const Rows& rows, const GlobalOptions& options);

// PrintDocument prints joined pages when they are asked for as json or yaml, and answers whether they were.
bool PrintDocument(const google::protobuf::Message& joined_pages, Format format);

}  // namespace ringd::ctl
