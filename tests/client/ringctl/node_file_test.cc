#include "client/ringctl/node_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/ringctl/json.h"

namespace ringd::ctl {
namespace {

using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

NodeFile Parsed(const std::string& content) {
  const absl::StatusOr<NodeFile> file = ParseNodeFile("f.yaml", content);
  EXPECT_TRUE(file.ok()) << file.status() << "\n" << content;
  return file.ok() ? *file : NodeFile();
}

std::string Error(const std::string& content) {
  const absl::StatusOr<NodeFile> file = ParseNodeFile("f.yaml", content);
  EXPECT_EQ(file.status().code(), absl::StatusCode::kInvalidArgument) << content;
  return std::string(file.status().message());
}

TEST(NodeFile, HasEveryField) {
  const NodeFile file = Parsed(
      "# a comment\n"
      "nodes:\n"
      "- id: n1\n"
      "  address: 10.0.0.1:6379\n"
      "  weight: 7\n"
      "  zone: a\n"
      "  hash_key: k\n"
      "  metadata: {rack: r7, \"no\": yes}\n"
      "\n"
      "- {id: n2, points: [17, \"18446744073709551615\", 0]}\n");
  ASSERT_EQ(file.entries.size(), 2u);
  const v1::Node& node = file.entries[0].node;
  EXPECT_EQ(node.id(), "n1");
  EXPECT_EQ(node.address(), "10.0.0.1:6379");
  EXPECT_EQ(node.weight(), 7u);
  EXPECT_EQ(node.zone(), "a");
  EXPECT_EQ(node.hash_key(), "k");
  EXPECT_THAT(node.metadata(), UnorderedElementsAre(Pair("rack", "r7"), Pair("no", "yes")));
  EXPECT_EQ(file.entries[0].line, 3);
  EXPECT_EQ(file.entries[1].line, 10);
  EXPECT_FALSE(file.entries[1].node.has_weight());
  EXPECT_THAT(file.entries[1].node.points(), testing::ElementsAre(17u, UINT64_MAX, 0u));
}

TEST(NodeFile, TextsAreTakenAsTheyAreWritten) {
  const NodeFile file = Parsed("nodes: [{id: 007, zone: no, address: 1.10, hash_key: '~', weight: \"3\"}]");
  const v1::Node& node = file.entries.at(0).node;
  EXPECT_EQ(node.id(), "007");
  EXPECT_EQ(node.zone(), "no");
  EXPECT_EQ(node.address(), "1.10");
  EXPECT_EQ(node.hash_key(), "~");
  EXPECT_EQ(node.weight(), 3u);
}

TEST(NodeFile, AnEmptyDocumentHasNoNodes) {
  for (const char* content : {"", "\n", "# nothing\n", "---\n", "null", "nodes: []", "{\"nodes\": []}"}) {
    EXPECT_TRUE(Parsed(content).entries.empty()) << content;
  }
}

// What `ring get` prints, with texts that either form has to escape.
TEST(NodeFile, ReadsAnExportBack) {
  v1::GetRingResponse answer;
  answer.mutable_ring()->set_name("r");
  answer.mutable_version()->set_epoch(uint64_t{1} << 63);
  v1::Node& node = *answer.add_nodes();
  node.set_id("n: \"1\" #x, ключ 😀");
  node.set_address("[::1]:7");
  node.set_weight(0);
  node.set_zone("null");
  node.set_hash_key("- k");
  (*node.mutable_metadata())["true"] = "a\nb\tc\\x7F\x7F\u2028 'quoted' {}\x01";
  (*node.mutable_metadata())[""] = "";
  node.set_join_number(3);
  node.set_share(0.25);
  answer.add_nodes()->set_id("~");
  answer.add_slot_owners(2);
  for (const std::string& text : {JsonText(ToJsonWithoutPaging(answer)), YamlText(ToJsonWithoutPaging(answer))}) {
    const NodeFile file = Parsed(text);
    ASSERT_EQ(file.entries.size(), 2u) << text;
    v1::Node wanted = node;
    wanted.clear_join_number();
    wanted.clear_share();
    EXPECT_EQ(ToJson(file.entries[0].node), ToJson(wanted)) << text;
    EXPECT_EQ(file.entries[1].node.id(), "~");
  }
}

TEST(NodeFile, JsonOfOtherPrograms) {
  EXPECT_EQ(Parsed("{\n\t\"nodes\": [\n\t\t{\"id\": \"a\\/b\\u00e9\"}\n\t]\n}\n").entries.at(0).node.id(), "a/bé");
  EXPECT_EQ(Parsed("{\"nodes\":[{\"id\":\"\\ud83d\\ude00\"}]}").entries.at(0).node.id(), "😀");
  EXPECT_EQ(Parsed(R"({"nodes":[{"id":"\\ud83d\\ude00"}]})").entries.at(0).node.id(), R"(\ud83d\ude00)");
  EXPECT_THAT(Error(R"({"nodes":[{"id":"\ud83d"}]})"), HasSubstr("f.yaml:1: "));
}

TEST(NodeFile, SaysWhatIsWrongAndWhere) {
  const std::pair<const char*, const char*> cases[] = {
      {"nodes:\n- id: n1\n  adress: x\n", "f.yaml:3: node \"n1\": unknown key \"adress\"; did you mean \"address\"?"},
      {"nodes:\n- adress: x\n  id: n1\n", "f.yaml:2: node \"n1\": unknown key \"adress\"; did you mean \"address\"?"},
      {"nodes: [{id: n1, state: up}]", "f.yaml:1: node \"n1\": unknown key \"state\""},
      {"node:\n- id: n1\n", "f.yaml:1: unknown key \"node\"; did you mean \"nodes\"?"},
      {"nodes: []\nnext_page_token: x\n", "f.yaml:2: unknown key \"next_page_token\""},
      {"version: {}\n", "f.yaml:1: the key \"nodes\" is missing"},
      {"- id: n1\n", "f.yaml:1: the document is no mapping with the key \"nodes\""},
      {"n1\n", "f.yaml:1: the document is no mapping with the key \"nodes\""},
      {"nodes:\n", "f.yaml:1: nodes has no value"},
      {"nodes: {n1: {}}\n", "f.yaml:1: nodes is no list; [] is an empty one"},
      {"nodes:\n- n1\n", "f.yaml:2: nodes[0] is no mapping, with lines such as \"id: n1\""},
      {"nodes:\n- id: n1\n- weight: 1\n", "f.yaml:3: nodes[1] has no id"},
      {"nodes:\n- id:\n", "f.yaml:2: nodes[0]: id has no value"},
      {"nodes:\n- id: [n1]\n", "f.yaml:2: nodes[0]: id is no text"},
      {"nodes:\n- id: n1\n- id: n2\n- id: n1\n", "f.yaml:4: node \"n1\" comes twice, first in line 2"},
      {"nodes:\n- id: n1\n  zone: a\n  zone: b\n", "f.yaml:4: node \"n1\": \"zone\" comes twice, first in line 3"},
      {"nodes: []\nnodes: []\n", "f.yaml:2: \"nodes\" comes twice, first in line 1"},
      {"nodes:\n- id: n1\n  weight: -3\n", "f.yaml:3: node \"n1\": weight \"-3\" is no whole number >= 0"},
      {"nodes:\n- id: n1\n  weight: 1.5\n", "f.yaml:3: node \"n1\": weight \"1.5\" is no whole number >= 0"},
      {"nodes:\n- id: n1\n  weight: 4294967296\n",
       "f.yaml:3: node \"n1\": weight 4294967296 is above 4294967295, the most that can be sent"},
      {"nodes:\n- id: n1\n  weight:\n", "f.yaml:3: node \"n1\": weight has no value"},
      {"nodes:\n- id: n1\n  zone: {a: b}\n", "f.yaml:3: node \"n1\": zone is no text"},
      {"nodes:\n- id: n1\n  metadata: x\n",
       "f.yaml:3: node \"n1\": metadata is no mapping of texts; {} is an empty one"},
      {"nodes:\n- id: n1\n  metadata:\n    a: [1]\n", "f.yaml:4: node \"n1\": metadata: \"a\" is no text"},
      {"nodes:\n- id: n1\n  metadata:\n    a:\n", "f.yaml:4: node \"n1\": metadata: \"a\" has no value"},
      {"nodes:\n- id: n1\n  metadata:\n", "f.yaml:3: node \"n1\": metadata has no value"},
      {"nodes:\n- id: n1\n  metadata: {a: 1, a: 2}\n", "f.yaml:3: node \"n1\": metadata: \"a\" comes twice"},
      {"nodes:\n- id: n1\n  points: 7\n", "f.yaml:3: node \"n1\": points is no list; [] is an empty one"},
      {"nodes:\n- id: n1\n  points: [7,\n -1]\n", "f.yaml:4: node \"n1\": points \"-1\" is no whole number below 2^64"},
      {"nodes: []\n---\nnodes: []\n", "f.yaml:3: a second document begins"},
  };
  for (const auto& [content, text] : cases) EXPECT_EQ(Error(content), text);
}

TEST(NodeFile, WhatIsNoYamlIsRefusedInItsLine) {
  for (const char* content : {"nodes:\n- id: \"n\\q1\"\n", "{\"nodes\": [{\"id\": \"n1\"}",
                              "nodes:\n- id: n1\n address: x\n", "nodes:\n- {id: n1\n"}) {
    EXPECT_THAT(Error(content), testing::MatchesRegex("f.yaml:[0-9]+: .+")) << content;
  }
}

// Else the rest of the file would be text, and its nodes would be removed.
TEST(NodeFile, AQuoteThatIsNeverClosedIsRefused) {
  for (const char* content : {"nodes:\n- id: \"n1\n- id: n2\n", "nodes:\n- id: 'n1\n", "nodes:\n- id: \"n1"}) {
    EXPECT_THAT(Error(content), HasSubstr("illegal EOF in scalar")) << content;
  }
  EXPECT_EQ(Parsed("nodes:\n- id: n1\n  metadata:\n    a: |\n      x\n").entries.at(0).node.metadata().at("a"), "x\n");
}

// For YAML::LoadAll it has documents without end.
TEST(NodeFile, ATextThatTheLibraryDoesNotGetOnWithIsRefused) {
  EXPECT_THAT(Error(",nodes: |\n  d\n"), HasSubstr("f.yaml:1: "));
}

// Neither the stack nor the memory of this process is the file's.
TEST(NodeFile, DeepNestingAndManyAliasesAreRefused) {
  EXPECT_THAT(Error("nodes: " + std::string(100'000, '[')), HasSubstr("f.yaml:"));
  std::string nested = "&a0 [x]";
  for (int i = 1; i < 30; ++i) nested = "&a" + std::to_string(i) + " [" + nested + ", *a" + std::to_string(i - 1) + "]";
  EXPECT_THAT(Error("version: " + nested + "\nnodes: [{id: *a29}]"), HasSubstr("id is no text"));
}

}  // namespace
}  // namespace ringd::ctl
