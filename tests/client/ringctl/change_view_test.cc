// What a change of the history is told as.
#include "client/ringctl/change_view.h"

#include <gtest/gtest.h>

namespace ringd::ctl {
namespace {

v1::ChangeRecord Record() {
  v1::ChangeRecord record;
  record.mutable_version()->set_epoch(7);
  record.mutable_version()->set_revision(3);
  record.set_from_revision(2);
  record.mutable_time()->set_seconds(1'700'000'000);
  record.mutable_time()->set_nanos(123'456'000);
  record.set_actor("ops");
  record.set_reason("why");
  return record;
}

v1::Node NodeOf(const std::string& id, uint32_t weight) {
  v1::Node node;
  node.set_id(id);
  node.set_hash_key(id);
  node.set_weight(weight);
  return node;
}

TEST(ChangeText, TellsOneNodeWithItsFields) {
  v1::ChangeRecord record = Record();
  v1::NodeDelta& delta = *record.add_nodes();
  *delta.mutable_before() = NodeOf("n1", 100);
  EXPECT_EQ(ChangeText(record), "removed n1");
  *delta.mutable_after() = NodeOf("n1", 50);
  delta.mutable_after()->set_zone("z");
  EXPECT_EQ(ChangeText(record), "updated n1: weight 100 -> 50, zone - -> z");
  delta.clear_before();
  EXPECT_EQ(ChangeText(record), "added n1");
}

TEST(ChangeText, CountsManyNodes) {
  v1::ChangeRecord record = Record();
  *record.add_nodes()->mutable_after() = NodeOf("n1", 1);
  *record.add_nodes()->mutable_after() = NodeOf("n2", 1);
  *record.add_nodes()->mutable_before() = NodeOf("n3", 1);
  EXPECT_EQ(ChangeText(record), "nodes: 2 added, 1 removed");
  record.set_nodes_left_out(7);
  EXPECT_EQ(ChangeText(record), "nodes: 2 added, 1 removed, and 7 more");
}

TEST(ChangeText, NamesTheSettingsThatChanged) {
  v1::ChangeRecord record = Record();
  v1::RingDelta& delta = *record.mutable_ring_update();
  delta.mutable_before()->set_default_weight(100);
  delta.mutable_after()->set_default_weight(7);
  EXPECT_EQ(ChangeText(record), "settings: default_weight 100 -> 7");
  delta.mutable_before()->set_default_weight(7);
  (*delta.mutable_after()->mutable_labels())["k"] = "v";
  delta.mutable_after()->mutable_history_limits()->set_max_changes(1);
  EXPECT_EQ(ChangeText(record), "settings: labels, history_limits");
}

TEST(ChangeText, TellsTheCreation) {
  v1::ChangeRecord record = Record();
  record.set_from_revision(0);
  EXPECT_EQ(ChangeText(record), "created");
}

TEST(ChangeRows, TimesAreWholeInTsvAlone) {
  google::protobuf::RepeatedPtrField<v1::ChangeRecord> changes;
  *changes.Add() = Record();
  *changes.Mutable(0)->add_nodes()->mutable_after() = NodeOf("n1", 1);
  changes.Mutable(0)->mutable_movement()->set_moved_share(0.125);
  using Cells = std::vector<std::string>;
  EXPECT_EQ(ChangeRows(changes, Format::kTable).cells.at(0),
            (Cells{"7/3", "2023-11-14T22:13:20Z", "ops", "added n1", "12.50%", "why"}));
  EXPECT_EQ(ChangeRows(changes, Format::kTsv).cells.at(0).at(1), "2023-11-14T22:13:20.123456Z");
}

}  // namespace
}  // namespace ringd::ctl
