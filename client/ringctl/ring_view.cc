#include "client/ringctl/ring_view.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include "client/ringctl/escape.h"
#include "client/ringctl/json.h"
#include "client/ringctl/placement.h"
#include "client/ringctl/standard_output.h"
#include "client/ringctl/version_text.h"

namespace ringd::ctl {

std::string TimeText(google::protobuf::Timestamp time, Format format) {
  if (format != Format::kTsv) time.set_nanos(0);
  return google::protobuf::util::TimeUtil::ToString(time);
}

std::string ShareText(double share, Format format) {
  return format == Format::kTsv ? fmt::format("{}", share) : fmt::format("{:.2f}%", share * 100);
}

Rows RingRows(const google::protobuf::RepeatedPtrField<v1::Ring>& rings) {
  Rows rows;
  rows.headers = {"NAME", "VERSION", "PLACEMENT", "NODES", "WEIGHT", "POINTS", "IMBALANCE", "CHECKSUM"};
  for (const v1::Ring& ring : rings) {
    rows.cells.push_back({ring.name(), VersionText(ring.version()), PlacementName(ring.placement()),
                          std::to_string(ring.node_count()), std::to_string(ring.total_weight()),
                          std::to_string(ring.point_count()), fmt::format("{:.3f}", ring.imbalance()),
                          ChecksumText(ring.checksum())});
  }
  return rows;
}

Rows NodeRows(const v1::Ring& ring, const google::protobuf::RepeatedPtrField<v1::Node>& nodes, Format format) {
  Rows rows;
  rows.headers = {"ID", "WEIGHT", "SHARE", "EXPECTED", "ZONE", "ADDRESS"};
  for (const v1::Node& node : nodes) {
    const double expected =
        ring.total_weight() == 0 ? 0 : static_cast<double>(node.weight()) / static_cast<double>(ring.total_weight());
    rows.cells.push_back({node.id(), std::to_string(node.weight()), ShareText(node.share(), format),
                          ShareText(expected, format), node.zone(), node.address()});
  }
  return rows;
}

std::string RingBlock(const v1::Ring& ring) {
  Rows rows;
  rows.headers = {"", ""};
  rows.cells = {{"name", ring.name()},
                {"version", VersionText(ring.version())},
                {"checksum", ChecksumText(ring.checksum())},
                {"placement", PlacementDetails(ring.placement())},
                {"default weight", std::to_string(ring.default_weight())},
                {"nodes", std::to_string(ring.node_count())}};
  if (ring.point_count() > 0) rows.cells.push_back({"points", std::to_string(ring.point_count())});
  rows.cells.push_back({"imbalance", ring.imbalance() > 0 ? fmt::format("{:.3f}", ring.imbalance()) : ""});
  for (const auto& [key, value] : std::map(ring.labels().begin(), ring.labels().end())) {
    rows.cells.push_back({"label", fmt::format("{}={}", key, value)});
  }
  return TableText(rows, Headers::kHide);
}

std::string RowsText(const Rows& rows, const GlobalOptions& options) {
  if (options.format == Format::kTsv) return TsvText(rows);
  return TableText(rows, options.no_headers ? Headers::kHide : Headers::kShow);
}

bool PrintDocument(const google::protobuf::Message& joined_pages, Format format) {
  if (format == Format::kJson) Print(JsonText(ToJsonWithoutPaging(joined_pages)));
  if (format == Format::kYaml) Print(YamlText(ToJsonWithoutPaging(joined_pages)));
  return format == Format::kJson || format == Format::kYaml;
}

}  // namespace ringd::ctl
