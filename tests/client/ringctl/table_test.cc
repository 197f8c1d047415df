#include "client/ringctl/table.h"

#include <gtest/gtest.h>

namespace ringd::ctl {
namespace {

const Rows kRows = {{"ID", "ZONE"}, {{"n1", ""}, {"é\u202E", "a\tb"}}};

TEST(TableText, AlignsToTheLeftAndEscapes) {
  EXPECT_EQ(TableText(kRows, Headers::kShow), "ID             ZONE\nn1             -\né\\xE2\\x80\\xAE  a\\x09b\n");
}

TEST(TableText, HidesHeaders) { EXPECT_EQ(TableText({{"LONG HEADER"}, {{"a"}}}, Headers::kHide), "a\n"); }

TEST(TsvText, HasNoHeadersAndEscapes) { EXPECT_EQ(TsvText(kRows), "n1\t\né\u202E\ta\\x09b\n"); }

}  // namespace
}  // namespace ringd::ctl
