#include "client/ringctl/json.h"

#include <gtest/gtest.h>

#include "ringd/v1/directory.pb.h"

namespace ringd::ctl {
namespace {

v1::GetRingResponse Ring() {
  v1::GetRingResponse response;
  response.mutable_version()->set_epoch(uint64_t{1} << 60);
  response.mutable_version()->set_revision(7);
  response.set_next_page_token("next");
  response.set_stale(false);
  response.mutable_age()->set_seconds(1);
  v1::Node& node = *response.add_nodes();
  node.set_id("n1");
  node.set_weight(0);
  node.set_share(0.25);
  for (const char* key : {"z", "a", "m", "b", "y"}) (*node.mutable_metadata())[key] = key;
  return response;
}

TEST(ToJson, KeepsNamesDefaultsAndSixtyFourBits) {
  const Json json = ToJson(Ring());
  EXPECT_EQ(json["version"]["epoch"], "1152921504606846976");
  EXPECT_EQ(json["nodes"][0]["join_number"], "0");
  EXPECT_EQ(json["nodes"][0]["hash_key"], "");
  EXPECT_EQ(json["nodes"][0]["weight"], 0);
  EXPECT_EQ(json["nodes"][0]["share"], 0.25);
}

TEST(ToJson, OrdersTheKeysOfMaps) {
  EXPECT_EQ(ToJson(Ring())["nodes"][0]["metadata"].dump(), R"({"a":"a","b":"b","m":"m","y":"y","z":"z"})");
}

TEST(ToJsonWithoutPaging, LeavesOutWhatIsNoFunctionOfTheVersion) {
  const Json json = ToJsonWithoutPaging(Ring());
  for (const char* key : {"next_page_token", "age", "stale"}) EXPECT_FALSE(json.contains(key)) << key;
  EXPECT_EQ(json["nodes"].size(), 1u);
}

TEST(JsonText, IsIndentedAndHasAListOfNumbersOnOneLine) {
  const Json json = {{"b", {{"x", 1}, {"e", Json::object()}}},
                     {"a", Json::array({1, "18446744073709551615"})},
                     {"l", Json::array({"x", 1})},
                     {"n", Json::array()},
                     {"q\"", nullptr}};
  EXPECT_EQ(JsonText(json),
            "{\n  \"b\": {\n    \"x\": 1,\n    \"e\": {}\n  },\n  \"a\": [1,\"18446744073709551615\"],\n"
            "  \"l\": [\n    \"x\",\n    1\n  ],\n  \"n\": [],\n  \"q\\\"\": null\n}\n");
  EXPECT_EQ(Json::parse(JsonText(json)), json);
  EXPECT_EQ(YamlText({{"a", Json::array({1, 2, "3"})}}), "a: [1, 2, \"3\"]\n");
}

TEST(YamlText, KeepsOrderAndTypes) {
  const Json json =
      Json::parse(R"({"revision":"7","count":7,"x":0.5,"b":true,"list":[{"id":"a"},{}],"none":[],"1":"é\n"})");
  EXPECT_EQ(YamlText(json),
            "revision: \"7\"\ncount: 7\nx: 0.5\nb: true\nlist:\n  - id: \"a\"\n  - {}\nnone: []\n\"1\": \"é\\n\"\n");
}

TEST(YamlText, EscapesWhatReadersOfYamlWouldRefuseOrFold) {
  EXPECT_EQ(YamlText({{"a", "\x7F\u0085\u2028\u2029\x01"}}), "a: \"\\x7F\\x85\\L\\P\\x01\"\n");
}

// What yaml-cpp would put U+FFFD in the place of, which would be another name; and the mark that stands for it
// meanwhile.
TEST(YamlText, KeepsNoncharacters) {
  EXPECT_EQ(YamlText({{"a\uFFFE", "\uFDD0\U0010FFFF\uE000\u00E9"}}),
            "\"a\\U0000FFFE\": \"\\U0000FDD0\\U0010FFFF\\U0000E000\u00E9\"\n");
}

TEST(YamlText, QuotesKeysThatWouldBeSomethingElse) {
  EXPECT_EQ(YamlText({{"no", 1}, {"", 2}, {"1", 3}, {"a: b", 4}}), "\"no\": 1\n\"\": 2\n\"1\": 3\n\"a: b\": 4\n");
}

TEST(JsonLine, IsOneLine) { EXPECT_EQ(JsonLine(Json::parse("{\"a\":\n\"x\\ny\"}")), "{\"a\":\"x\\ny\"}\n"); }

}  // namespace
}  // namespace ringd::ctl
