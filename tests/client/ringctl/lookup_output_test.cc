#include "client/ringctl/lookup_output.h"

#include <gtest/gtest.h>

#include "client/ringctl/json.h"

namespace ringd::ctl {
namespace {

v1::BatchLookupRequest Request(const std::vector<std::string>& keys) {
  v1::BatchLookupRequest request;
  for (const std::string& key : keys) request.add_keys(key);
  return request;
}

// Nodes "n,1" and "n2"; key i is owned by first node i % 2, second the other.
v1::BatchLookupResponse Response(int keys) {
  v1::BatchLookupResponse response;
  response.mutable_version()->set_epoch(5);
  response.mutable_version()->set_revision(6);
  response.add_nodes()->set_id("n,1");
  response.add_nodes()->set_id("n2");
  response.mutable_nodes(1)->set_address("h:1");
  response.set_owners_per_key(2);
  for (int i = 0; i < keys; ++i) {
    response.add_owner_indices(static_cast<uint32_t>(i % 2));
    response.add_owner_indices(static_cast<uint32_t>(1 - i % 2));
  }
  return response;
}

std::string Output(Format format, const std::vector<std::vector<std::string>>& batches) {
  GlobalOptions options;
  options.format = format;
  LookupOutput output(options);
  std::string text;
  for (const auto& keys : batches) text += output.Add(Request(keys), Response(static_cast<int>(keys.size())));
  return text + output.Finish();
}

TEST(LookupOutput, TsvIsKeyTabOwners) {
  EXPECT_EQ(Output(Format::kTsv, {{"a", "b\t,"}, {"c"}}), "a\tn\\x2C1,n2\nb\\x09,\tn2,n\\x2C1\nc\tn\\x2C1,n2\n");
}

TEST(LookupOutput, JsonIsOneDocumentOverAllBatches) {
  const Json json = Json::parse(Output(Format::kJson, {{"a", "\xFF"}, {"c"}}));
  ASSERT_EQ(json["results"].size(), 3u);
  EXPECT_EQ(json["results"][0]["key"], "a");
  EXPECT_EQ(json["results"][0]["owners"][1]["address"], "h:1");
  EXPECT_EQ(json["results"][0]["version"]["revision"], "6");
  EXPECT_EQ(json["results"][1]["key_base64"], "/w==");
  EXPECT_EQ(json["results"][2]["key"], "c");
}

TEST(LookupOutput, DocumentsWithoutResultsAreValid) {
  EXPECT_EQ(Output(Format::kJson, {{}}), "{\"results\":[]}\n");
  EXPECT_EQ(Output(Format::kYaml, {{}}), "results: []\n");
  EXPECT_EQ(Output(Format::kJson, {}), "");
}

TEST(LookupOutput, YamlListsTheResults) {
  EXPECT_EQ(Output(Format::kYaml, {{"a"}}).substr(0, 22), "results:\n- key: \"a\"\n  ");
}

TEST(FitsRequest, RefusesAnswersThatLeadNowhere) {
  const auto request = Request({"a", "b"});
  EXPECT_TRUE(FitsRequest(request, Response(2)));
  EXPECT_FALSE(FitsRequest(request, Response(1)));
  EXPECT_FALSE(FitsRequest(request, Response(3)));
  v1::BatchLookupResponse wrong = Response(2);
  wrong.set_owner_indices(3, 2);
  EXPECT_FALSE(FitsRequest(request, wrong));
  EXPECT_FALSE(FitsRequest(request, v1::BatchLookupResponse()));
}

}  // namespace
}  // namespace ringd::ctl
