#include "client/ringctl/ring_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ringd::ctl {
namespace {

using testing::HasSubstr;

constexpr char kPool[] = "a:\n  servers: ['h:1:1']\n";
constexpr char kUpstream[] = "upstream u { hash $k consistent; server h:1; }\n";
constexpr char kExport[] = R"({"ring": {"placement": {"preset": {"preset": "PRESET_KETAMA"}}, "default_weight": 3,
                               "labels": {"a": "1", "b": "2"}}})";

RingImportOptions Options(const std::string& preset = "") {
  RingImportOptions options;
  options.ring.placement.preset = preset;
  return options;
}

std::string Error(const RingImportOptions& options, const std::string& content) {
  const absl::StatusOr<ImportedRing> ring = ParseImport(options, "f", content);
  EXPECT_EQ(ring.status().code(), absl::StatusCode::kInvalidArgument) << content;
  return std::string(ring.status().message());
}

TEST(RingImport, TellsAFileByItsFirstLine) {
  for (const char* content : {kExport, "\n  {"}) EXPECT_EQ(ImportFormatOf(content), "json") << content;
  for (const char* content : {kPool, "# pools\n\nalpha:  # first\n", "---\nalpha:\n", "alpha: {servers: []}\n"}) {
    EXPECT_EQ(ImportFormatOf(content), "nutcracker") << content;
  }
  for (const char* content : {kUpstream, "user www;\n", "http {\n", "upstream u\n{\n"}) {
    EXPECT_EQ(ImportFormatOf(content), "nginx") << content;
  }
  for (const char* content : {"", "10.0.0.1:11211 1\n", "# {\nh\n", "h 3"})
    EXPECT_EQ(ImportFormatOf(content), "list") << content;
}

TEST(RingImport, ReadsEachFormat) {
  const absl::StatusOr<ImportedRing> list = ParseImport(Options("ketama-weighted"), "f", "h:1 2\n");
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->settings.placement().preset().preset(), v1::PRESET_KETAMA_WEIGHTED);
  EXPECT_EQ(ParseImport(Options(), "f", kPool)->settings.placement().preset().preset(), v1::PRESET_TWEMPROXY);
  EXPECT_EQ(ParseImport(Options(), "f", kUpstream)->settings.placement().preset().preset(), v1::PRESET_NGINX);
  EXPECT_EQ(ParseImport(Options(), "f", kExport)->settings.placement().preset().preset(), v1::PRESET_KETAMA);
}

TEST(RingImport, WhatIsSaidGoesBeforeTheFile) {
  RingImportOptions options = Options();
  options.ring.default_weight = 5;
  options.ring.labels = {{"b", "3"}};
  const absl::StatusOr<ImportedRing> ring = ParseImport(options, "f", kExport);
  ASSERT_TRUE(ring.ok()) << ring.status();
  EXPECT_EQ(ring->settings.default_weight(), 5u);
  EXPECT_EQ(ring->settings.labels().at("a"), "1");
  EXPECT_EQ(ring->settings.labels().at("b"), "3");
}

TEST(RingImport, RefusesOptionsThatHaveNoPlace) {
  EXPECT_THAT(Error(Options(), "h 1\n"),
              HasSubstr("a list needs --preset, or the flags of a placement: f was taken for list"));
  EXPECT_THAT(Error(Options("nginx"), kUpstream), HasSubstr("the file says which placement it is"));
  RingImportOptions pool = Options();
  pool.pool = "a";
  EXPECT_THAT(Error(pool, kUpstream),
              HasSubstr("--pool is for a nutcracker.yml: f was taken for nginx; --format says"));
  RingImportOptions upstream = Options();
  upstream.upstream = "u";
  upstream.format = "nutcracker";
  EXPECT_EQ(Error(upstream, kPool), "--upstream is for a configuration of nginx");
  RingImportOptions format = Options();
  format.format = "json";
  EXPECT_EQ(Error(format, kPool), "f:1: this is no JSON");
}

}  // namespace
}  // namespace ringd::ctl
