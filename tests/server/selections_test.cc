// The union of selectors that come and go.
#include "server/selections.h"

#include <gtest/gtest.h>

namespace ringd::server {
namespace {

TEST(Selections, SelectWhatAnyOfThemSelects) {
  Selections selections;
  EXPECT_FALSE(selections.Selects("r"));
  selections.Add({.names = {"r", "s"}});
  selections.Add({.prefix = "pre-"});
  for (const char* ring : {"r", "s", "pre-", "pre-r"}) EXPECT_TRUE(selections.Selects(ring)) << ring;
  for (const char* ring : {"", "rr", "pre", "a-pre-r"}) EXPECT_FALSE(selections.Selects(ring)) << ring;
}

TEST(Selections, AnEmptyPrefixSelectsEveryRing) {
  Selections selections;
  selections.Add({.prefix = ""});
  for (const char* ring : {"r", "pre-r"}) EXPECT_TRUE(selections.Selects(ring)) << ring;
}

TEST(Selections, WhatSeveralSelectIsSelectedUntilTheLastIsRemoved) {
  Selections selections;
  for (int i = 0; i < 2; ++i) {
    selections.Add({.names = {"r"}});
    selections.Add({.prefix = "pre-"});
  }
  selections.Add({.names = {"s", "s"}});
  selections.Remove({.names = {"r"}});
  selections.Remove({.prefix = "pre-"});
  for (const char* ring : {"r", "pre-r", "s"}) EXPECT_TRUE(selections.Selects(ring)) << ring;
  selections.Remove({.names = {"r"}});
  selections.Remove({.prefix = "pre-"});
  selections.Remove({.names = {"s", "s"}});
  for (const char* ring : {"r", "pre-r", "s"}) EXPECT_FALSE(selections.Selects(ring)) << ring;
}

}  // namespace
}  // namespace ringd::server
