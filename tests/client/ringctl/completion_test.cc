#include "client/ringctl/completion.h"

#include <gtest/gtest.h>

namespace ringd::ctl {
namespace {

TEST(CompletionText, HasTheCandidatesThatGoOnFromWhatWasTyped) {
  Place place;
  place.kind = Place::Kind::kCandidates;
  place.candidates = {{"table", ""}, {"tsv", "for programs"}, {"json", ""}};
  place.before = "--output=";
  place.begun = "t";
  EXPECT_EQ(CompletionText(place, {}), "words\n--output=table\t\n--output=tsv\tfor programs\n");
}

TEST(CompletionText, OfAWordHasTheNamesThatAreKnown) {
  Place place;
  place.kind = Place::Kind::kWord;
  place.begun = "n";
  EXPECT_EQ(CompletionText(place, {{"n1", "weight 5"}, {"m1", ""}}), "words\nn1\tweight 5\n");
}

TEST(CompletionText, LeavesFilesToTheShell) {
  Place place;
  place.kind = Place::Kind::kFile;
  EXPECT_EQ(CompletionText(place, {}), "files\n");
}

TEST(CompletionText, OfNothingIsNothing) { EXPECT_EQ(CompletionText(Place(), {{"n1", ""}}), "words\n"); }

}  // namespace
}  // namespace ringd::ctl
