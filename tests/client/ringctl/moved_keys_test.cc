// Keys in what moved: every key is told with both of its owners if and only if they differ, on every kind of circle.
#include "client/ringctl/moved_keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "client/ringctl/moved_output.h"
#include "ring/movement.h"
#include "tests/client/ringctl/ring_messages.h"

namespace ringd::ctl {
namespace {

v1::DiffVersionsResponse DiffOf(const ring::Ring& before, const ring::Ring& after) {
  v1::DiffVersionsResponse diff;
  const ring::Circle& circle = before.keys().circle();
  ring::ForEachMovedRange(before, after, [&](const ring::MovedRange& range) {
    v1::MovedRange& out = *diff.add_ranges();
    out.mutable_range()->set_first(circle.Value(range.first));
    out.mutable_range()->set_last(circle.Value(range.last));
    if (range.from != nullptr) out.set_from(range.from->id);
    if (range.to != nullptr) out.set_to(range.to->id);
  });
  return diff;
}

MovedKeys KeysOf(const ring::Ring& before, const ring::Ring& after) {
  v1::Placement placement;
  ToProto(before.settings().placement, &placement);
  auto keys = MovedKeys::Make(placement, DiffOf(before, after));
  EXPECT_TRUE(keys.ok()) << keys.status();
  return *std::move(keys);
}

TEST(MovedKeys, AKeyIsFoundWithBothOwnersWhereTheyDiffer) {
  for (const ring::Placement& placement :
       {ring::Placement(ring::HashedSettings{.points_per_weight = 30}),
        ring::Placement(
            ring::HashedSettings{.hash = ring::HashFunction::kCrc16, .points_per_weight = 30, .hash_tag = "{}"}),
        ring::Placement(ring::HashedSettings{.hash = ring::HashFunction::kMurmur3_32,
        .points_per_weight = 30,
        .match = ring::PointMatch::kStrictlyAfter}),
        ring::Placement(ring::DefaultsOf(ring::Preset::kJavaFnv1)),
        ring::Placement(ring::DefaultsOf(ring::Preset::kKetamaWeighted))}) {
    const ring::Ring before = RingWith(placement, {{.id = "a", .weight = 1, .join_number = 1},
                                                   {.id = "b", .weight = 1, .join_number = 2},
                                                   {.id = "c", .weight = 1, .join_number = 3}});
    const ring::Ring after = RingWith(placement, {{.id = "a", .weight = 1, .join_number = 1},
                                                  {.id = "c", .weight = 1, .join_number = 3},
                                                  {.id = "d", .weight = 1, .join_number = 4}});
    const MovedKeys keys = KeysOf(before, after);
    size_t moved = 0;
    for (int i = 0; i < 2'000; ++i) {
      const std::string key = "key:{" + std::to_string(i) + "}";
      const std::string from = before.node(before.Owner(before.Position(key))).id;
      const std::string to = after.node(after.Owner(after.Position(key))).id;
      const v1::MovedRange* found = keys.Find(key);
      ASSERT_EQ(found != nullptr, from != to) << key;
      if (found == nullptr) continue;
      EXPECT_EQ(found->from(), from);
      EXPECT_EQ(found->to(), to);
      ++moved;
    }
    EXPECT_GT(moved, 100u);
    EXPECT_LT(moved, 2'000u);
  }
}

TEST(MovedKeys, NothingIsFoundWhereNothingMoved) {
  const ring::Ring ring = RingWith(ring::HashedSettings{}, {{.id = "a", .weight = 1}});
  EXPECT_EQ(KeysOf(ring, ring).Find("k"), nullptr);
}

TEST(MovedKeys, ARingOverCharactersTakesNoOtherBytes) {
  const ring::Ring ring = RingWith(ring::DefaultsOf(ring::Preset::kJavaFnv1), {{.id = "a", .weight = 1}});
  EXPECT_FALSE(KeysOf(ring, ring).CanPlace("\xFF"));
  EXPECT_TRUE(KeysOf(ring, ring).CanPlace("\xC3\xA4"));
  v1::Placement points;
  points.mutable_points();
  EXPECT_TRUE(absl::IsInvalidArgument(MovedKeys::Make(points, {}).status()));
}

TEST(MovedKeys, APlacementThatIsNotKnownIsRefused) {
  EXPECT_EQ(MovedKeys::Make(v1::Placement(), {}).status().code(), absl::StatusCode::kInvalidArgument);
}

class MovedOutputTest : public ::testing::Test {
 protected:
  std::string TextIn(Format format, bool any = true) {
    GlobalOptions options;
    options.format = format;
    v1::DiffVersionsResponse diff;
    diff.mutable_from()->set_revision(1);
    diff.mutable_to()->set_revision(2);
    v1::MovedRange moved;
    moved.set_from("a");
    v1::MovedRange other;
    other.set_to("b,b");
    MovedOutput output(options, diff);
    std::string text;
    if (any) text += output.Add("k\t1", moved);
    if (any) text += output.Add(std::string("\xFF\0", 2), other);
    EXPECT_EQ(output.count(), any ? 2u : 0u);
    return text + output.Finish();
  }
};

TEST_F(MovedOutputTest, TsvIsALineAKeyThatCanBeReadBack) {
  EXPECT_EQ(TextIn(Format::kTsv), "k\\x091\ta\t\n\\xFF\\x00\t\tb,b\n");
  EXPECT_EQ(TextIn(Format::kTsv, false), "");
}

TEST_F(MovedOutputTest, ATableHasItsHeadersOnce) {
  const std::string text = TextIn(Format::kTable);
  EXPECT_EQ(text.substr(0, 3), "KEY");
  EXPECT_EQ(text.find("KEY", 1), std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
}

TEST_F(MovedOutputTest, JsonIsOneDocumentEvenWithoutKeys) {
  EXPECT_EQ(TextIn(Format::kJson),
            "{\"from\":{\"epoch\":\"0\",\"revision\":\"1\"},\"to\":{\"epoch\":\"0\",\"revision\":\"2\"},\"keys\":[\n"
            "{\"key\":\"k\\t1\",\"from\":\"a\",\"to\":null},\n"
            "{\"key_base64\":\"/wA=\",\"from\":null,\"to\":\"b,b\"}\n]}\n");
  EXPECT_EQ(
      TextIn(Format::kJson, false),
      "{\"from\":{\"epoch\":\"0\",\"revision\":\"1\"},\"to\":{\"epoch\":\"0\",\"revision\":\"2\"},\"keys\":[\n\n]}\n");
}

}  // namespace
}  // namespace ringd::ctl
