// What a Directory accepts and refuses, which versions it gives, and that nothing is shown that the store did not take.
#include "server/directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/test_directory.h"

namespace ringd::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string TextOf(const absl::Status& status) { return std::string(status.message()); }

// --- Rings.

TEST(Directory, ANewRingIsEmptyAtRevisionOneOfItsEpoch) {
  TestDirectory directory;
  const MutationResult result = directory.Do(Create("r"));
  EXPECT_EQ(ToString(result.version), "1/1");
  EXPECT_EQ(ToString(result.previous_version), "1/0");
  EXPECT_EQ(directory.At("r"), "1/1");
  EXPECT_THAT(directory.Nodes("r"), IsEmpty());
  EXPECT_THAT(directory.published, ElementsAre(ElementsAre("r")));
}

TEST(Directory, ARingThatExistsIsNotCreatedAgain) {
  TestDirectory directory;
  directory.Make("r", {"n1"});
  const absl::Status refused = directory.Refused(Create("r"));
  EXPECT_TRUE(absl::IsAlreadyExists(refused)) << refused;
  EXPECT_EQ(ring::ReasonOf(refused), kRingExists);
  EXPECT_EQ(directory.At("r"), "1/2");
}

TEST(Directory, MutationsOfARingThatDoesNotExistAreNotFound) {
  TestDirectory directory;
  for (const Mutation& mutation : {Delete("r"), Add("r", "n1"), WithId(Delete("r"), "id", 1),
                                   WithId(Add("r", "n1"), "id", 1), Checked(Delete("r")), Checked(Add("r", "n1"))}) {
    const absl::Status refused = directory.Refused(mutation);
    EXPECT_TRUE(absl::IsNotFound(refused)) << refused;
    EXPECT_EQ(ring::ReasonOf(refused), kRingNotFound);
  }
  EXPECT_TRUE(absl::IsNotFound(directory->Find("r").status()));
}

TEST(Directory, TheLimitOfRingsCountsThoseOfTheSameBurst) {
  TestDirectory directory({.max_rings = 2});
  directory.Do(Create("a"));
  const std::vector<Mutation> burst = {Create("b"), Create("c"), Delete("a"), Create("d"), Create("e")};
  const auto results = directory->Commit(burst);
  std::vector<absl::StatusCode> codes;
  for (const auto& result : results) codes.push_back(result.status().code());
  EXPECT_THAT(codes, ElementsAre(absl::StatusCode::kOk, absl::StatusCode::kResourceExhausted, absl::StatusCode::kOk,
                                 absl::StatusCode::kOk, absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(ring::ReasonOf(results[1].status()), ring::kLimitExceeded);
  EXPECT_TRUE(absl::IsResourceExhausted(directory.Refused(Checked(Create("f")))));
}

TEST(Directory, ListGivesRingsInOrderFromAfterWithinThePrefix) {
  TestDirectory directory;
  for (const char* name : {"b", "a2", "c", "a1", "a"}) directory.Do(Create(name));
  const auto list = [&](std::string_view prefix, std::string_view after, size_t max) {
    std::vector<std::string> names;
    for (const auto& state : directory->List(prefix, after, max)) names.push_back(state->head.name);
    return names;
  };
  EXPECT_THAT(list("", "", 100), ElementsAre("a", "a1", "a2", "b", "c"));
  EXPECT_THAT(list("", "", 2), ElementsAre("a", "a1"));
  EXPECT_THAT(list("", "a1", 2), ElementsAre("a2", "b"));
  EXPECT_THAT(list("", "a15", 1), ElementsAre("a2")) << "`after` need not exist";
  EXPECT_THAT(list("", "c", 100), IsEmpty());
  EXPECT_THAT(list("a", "", 100), ElementsAre("a", "a1", "a2"));
  EXPECT_THAT(list("a", "a1", 100), ElementsAre("a2"));
  EXPECT_THAT(list("a1", "a", 100), ElementsAre("a1"));
  EXPECT_THAT(list("a", "b", 100), IsEmpty());
  EXPECT_THAT(list("b", "a1", 100), ElementsAre("b"));
  EXPECT_THAT(list("", "", 0), IsEmpty());
}

// --- Versions.

TEST(Directory, RevisionsAreDenseAndRefusalsUseNone) {
  TestDirectory directory;
  directory.Make("r", {"n1"});
  EXPECT_TRUE(absl::IsAlreadyExists(directory.Refused(Add("r", "n1"))));
  EXPECT_TRUE(absl::IsNotFound(directory.Refused(Change("r", {RemoveOp("n2")}))));
  const MutationResult result = directory.Do(Change("r", {AddOp("n2"), WeightOp("n1", 2), AddOp("n3")}));
  EXPECT_EQ(ToString(result.previous_version), "1/2");
  EXPECT_EQ(ToString(result.version), "1/3") << "many operations are one revision";
  EXPECT_THAT(directory.Nodes("r"), ElementsAre("n1", "n2", "n3"));
}

TEST(Directory, AChangeThatChangesNothingUsesNoRevision) {
  TestDirectory directory;
  directory.Make("r", {"n1"});
  directory.bursts.clear();
  directory.published.clear();
  const MutationResult result = directory.Do(Change("r", {WeightOp("n1", 1)}));
  EXPECT_EQ(ToString(result.version), "1/2");
  EXPECT_EQ(result.previous_version, result.version);
  EXPECT_THAT(directory.bursts, IsEmpty());
  EXPECT_THAT(directory.published, IsEmpty());
}

// B17 (Effect-TS/effect#6911, cortexproject/cortex#6271): adding a known id is refused, it never keeps the old address
// while it reports success.
TEST(Directory, AKnownIdIsRefusedAndOneThatWasRemovedComesBackWithItsNewAddress) {
  TestDirectory directory;
  directory.Make("r");
  const Mutation first = WithId(Change("r", {AddOp("n1", 1, "10.0.0.1:1")}), "first", 1);
  EXPECT_EQ(ToString(directory.Do(first).version), "1/2");
  const absl::Status refused = directory.Refused(Change("r", {AddOp("n1", 1, "10.0.0.2:1")}));
  EXPECT_TRUE(absl::IsAlreadyExists(refused)) << refused;
  EXPECT_EQ(directory.State("r")->ring.node(0).address, "10.0.0.1:1");
  EXPECT_EQ(ToString(directory.Do(first).version), "1/2");
  directory.Do(Forced(Change("r", {RemoveOp("n1")})));
  directory.Do(Change("r", {AddOp("n1", 1, "10.0.0.2:1")}));
  EXPECT_EQ(directory.At("r"), "1/4");
  EXPECT_EQ(directory.State("r")->ring.node(0).address, "10.0.0.2:1");
  const auto change = directory.State("r")->log->Get(4);
  ASSERT_NE(change, nullptr);
  EXPECT_EQ(change->record.nodes.front().after->address, "10.0.0.2:1");
}

TEST(Directory, AnEpochHoldsTheMillisecondAndTwentyRandomBits) {
  TestDirectory directory;
  directory.now = absl::FromUnixMillis(1'700'000'000'123);
  directory.random = 0xFFF5'4321;
  EXPECT_EQ(directory.Do(Create("r")).version.epoch, (1'700'000'000'123u << 20) | 0x5'4321);
}

TEST(Directory, AnEpochIsAboveEveryEarlierOneWhateverTheClockSays) {
  TestDirectory directory;
  uint64_t last = 0;
  const auto expect_higher = [&](const std::string& ring, const std::string& when) {
    const uint64_t epoch = directory.Do(Create(ring)).version.epoch;
    EXPECT_GT(epoch, last) << when;
    last = epoch;
  };
  directory.now = absl::FromUnixSeconds(1'000'000);
  directory.random = 7;
  expect_higher("a", "at first");
  expect_higher("b", "at the same time with the same randomness");
  directory.random = 0;
  expect_higher("c", "with lower randomness");
  directory.now -= absl::Hours(1);
  expect_higher("d", "when the clock has gone back");
  directory.Do(Delete("d"));
  expect_higher("d", "after the highest was deleted");
  directory.Do(Delete("d"));
  directory.Reopen();
  expect_higher("d", "after a start without the ring that had the highest");
  directory.now = absl::FromUnixSeconds(-5);
  expect_higher("e", "before 1970");
}

TEST(Directory, AnEpochIsAboveThatOfARefusedRing) {
  TestDirectory directory;
  directory.store_verdict = absl::UnavailableError("disk");
  (void)directory.Refused(Create("r"));
  directory.store_verdict = absl::OkStatus();
  EXPECT_EQ(ToString(directory.Do(Create("r")).version), "2/1");
}

TEST(Directory, ALostExpectedVersionNamesBothVersionsAndWhoWasFirst) {
  TestDirectory directory;
  directory.Make("r", {"n1"});
  Mutation mutation = Add("r", "n2");
  mutation.expected_version = ring::Version{1, 1};
  const absl::Status lost = directory.Refused(mutation);
  EXPECT_TRUE(absl::IsAborted(lost)) << lost;
  EXPECT_EQ(ring::ReasonOf(lost), kVersionMismatch);
  EXPECT_EQ(TextOf(lost), "ring \"r\" is at version 1/2, not at the expected 1/1; last changed by \"test\"");
  mutation.expected_version = ring::Version{2, 2};
  EXPECT_TRUE(absl::IsAborted(directory.Refused(mutation))) << "another epoch";
  mutation.validate_only = true;
  EXPECT_TRUE(absl::IsAborted(directory.Refused(mutation))) << "a plan too";
  Mutation drop = Forced(Delete("r"));
  drop.expected_version = ring::Version{1, 3};
  EXPECT_TRUE(absl::IsAborted(directory.Refused(drop)));
  mutation.validate_only = false;
  mutation.expected_version = ring::Version{1, 2};
  EXPECT_EQ(ToString(directory.Do(mutation).version), "1/3");
}

TEST(Directory, InOneBurstOnlyTheFirstOfTwoWithTheSameExpectedVersionWins) {
  TestDirectory directory;
  directory.Make("r");
  std::vector<Mutation> burst = {Add("r", "n1"), Add("r", "n2")};
  for (Mutation& mutation : burst) mutation.expected_version = ring::Version{1, 1};
  const auto results = directory->Commit(burst);
  EXPECT_TRUE(results[0].ok());
  EXPECT_TRUE(absl::IsAborted(results[1].status())) << results[1].status();
  EXPECT_THAT(TextOf(results[1].status()), HasSubstr("is at version 1/2, not at the expected 1/1"));
  EXPECT_THAT(directory.Nodes("r"), ElementsAre("n1"));
}

// --- Retries.

class DirectoryRetry : public ::testing::Test {
 protected:
  static MutationResult Answer(const absl::StatusOr<MutationResult>& result) {
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : MutationResult{};
  }
  // Expects the answer that a change to 1/2 had, and that nothing happened since.
  void ExpectAsFirst(const absl::StatusOr<MutationResult>& result) {
    EXPECT_THAT(Answer(result).movement.pairs, ElementsAre(ring::MovedPair{"", "n1", 1}));
    EXPECT_EQ(ToString(Answer(result).version), "1/2");
    EXPECT_EQ(ToString(Answer(result).previous_version), "1/1");
  }
  TestDirectory directory_;
  const Mutation add_ = WithId(Add("r", "n1"), "id", 1);
};

TEST_F(DirectoryRetry, IsAnsweredAsTheFirstWithinOneBurst) {
  directory_.Make("r");
  const auto results = directory_->Commit(std::vector<Mutation>{add_, Add("r", "n2"), add_});
  ExpectAsFirst(results[0]);
  ExpectAsFirst(results[2]);
  EXPECT_EQ(directory_.At("r"), "1/3");
}

TEST_F(DirectoryRetry, IsAnsweredAsTheFirstInALaterBurstAndAfterAStart) {
  directory_.Make("r");
  ExpectAsFirst(directory_.Try(add_));
  directory_.Do(Add("r", "n2"));
  ExpectAsFirst(directory_.Try(add_));
  directory_.Reopen();
  ExpectAsFirst(directory_.Try(add_));
  Mutation with_expected = add_;
  with_expected.expected_version = ring::Version{1, 1};
  ExpectAsFirst(directory_.Try(with_expected));  // the answer comes before the check
  EXPECT_EQ(directory_.At("r"), "1/3");
}

TEST_F(DirectoryRetry, OfACreationIsAnsweredAsTheFirst) {
  const Mutation create = WithId(Create("r"), "id", 1);
  const MutationResult first = directory_.Do(create);
  directory_.Do(Add("r", "n1"));
  directory_.Reopen();
  const MutationResult again = directory_.Do(create);
  EXPECT_EQ(again.version, first.version);
  EXPECT_EQ(again.previous_version, first.previous_version);
  EXPECT_TRUE(absl::IsInvalidArgument(directory_.Refused(WithId(Create("r"), "id", 2))));
  EXPECT_TRUE(absl::IsAlreadyExists(directory_.Refused(WithId(Create("r"), "other", 1))));
}

TEST_F(DirectoryRetry, WithOtherContentIsInvalidAndChangesNothing) {
  directory_.Make("r");
  const Mutation other = WithId(Add("r", "n2"), "id", 2);
  const auto results = directory_->Commit(std::vector<Mutation>{add_, other});
  for (const absl::Status& refused : {results[1].status(), directory_.Refused(other)}) {
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
    EXPECT_EQ(ring::ReasonOf(refused), kRequestIdReused);
    EXPECT_THAT(TextOf(refused), HasSubstr("version 1/2"));
  }
  directory_.Reopen();
  EXPECT_TRUE(absl::IsInvalidArgument(directory_.Refused(other)));
  EXPECT_THAT(directory_.Nodes("r"), ElementsAre("n1"));
}

TEST_F(DirectoryRetry, OnlyAcceptedChangesKeepTheirId) {
  directory_.Make("r", {"n0"});
  (void)directory_.Refused(WithId(Change("r", {RemoveOp("n0")}), "id", 3));  // the guard
  directory_.store_verdict = absl::UnavailableError("disk");
  (void)directory_.Refused(WithId(Add("r", "n2"), "id", 2));
  directory_.store_verdict = absl::OkStatus();
  EXPECT_EQ(ToString(directory_.Do(add_).version), "1/3");
}

TEST_F(DirectoryRetry, IsNoRetryInAnotherRingOrUnderAnotherId) {
  directory_.Make("r");
  directory_.Make("s");
  directory_.Do(add_);
  EXPECT_EQ(ToString(directory_.Do(WithId(Add("s", "n1"), "id", 2)).version), "2/2");
  EXPECT_TRUE(absl::IsAlreadyExists(directory_.Refused(WithId(Add("r", "n1"), "id2", 1))));
}

TEST_F(DirectoryRetry, IsNoneInARingThatWasMadeAnew) {
  directory_.Make("r");
  directory_.Do(add_);
  const auto results = directory_->Commit(std::vector<Mutation>{Forced(Delete("r")), Create("r"), add_});
  EXPECT_EQ(ToString(Answer(results[2]).version), "2/2") << "not the answer of the ring that has gone";
  EXPECT_THAT(directory_.Nodes("r"), ElementsAre("n1"));
}

TEST_F(DirectoryRetry, IsIgnoredWithValidateOnly) {
  directory_.Make("r");
  directory_.Do(Checked(add_));
  EXPECT_EQ(ToString(directory_.Do(add_).version), "1/2") << "the check did not take the id";
  const absl::Status refused = directory_.Refused(Checked(add_));
  EXPECT_TRUE(absl::IsAlreadyExists(refused)) << "a check is no retry: " << refused;
  EXPECT_TRUE(directory_.Try(Checked(WithId(Add("r", "n2"), "id", 2))).ok());
}

TEST_F(DirectoryRetry, IsForgottenWithTheHistory) {
  TestDirectory directory({.history_max = 2});
  directory.Make("r");
  directory.Do(add_);
  directory.Do(Add("r", "n2"));
  ExpectAsFirst(directory.Try(add_));
  directory.Do(Add("r", "n3"));
  EXPECT_TRUE(absl::IsAlreadyExists(directory.Refused(add_)));
}

TEST_F(DirectoryRetry, OfADeletionIsAnsweredAsTheFirstForTenMinutes) {
  directory_.Make("r", {"n1"});
  const Mutation drop = WithId(Forced(Delete("r")), "id", 1);
  EXPECT_EQ(ToString(directory_.Do(drop).version), "1/2");
  const ring::MovedPair all{"n1", "", 1};
  directory_.now += absl::Minutes(10);
  for (int start = 0; start < 2; ++start) {
    const MutationResult again = directory_.Do(drop);
    EXPECT_EQ(ToString(again.version), "1/2");
    EXPECT_EQ(again.previous_version, again.version);
    EXPECT_THAT(again.movement.pairs, ElementsAre(all));
    EXPECT_TRUE(absl::IsInvalidArgument(directory_.Refused(WithId(Delete("r"), "id", 2))));
    EXPECT_TRUE(absl::IsNotFound(directory_.Refused(WithId(Delete("r"), "other", 1))));
    directory_.Reopen();
  }
}

TEST_F(DirectoryRetry, OfADeletionLeavesARingThatWasMadeAnewAlone) {
  directory_.Make("r");
  const Mutation drop = WithId(Forced(Delete("r")), "id", 1);
  const auto results = directory_->Commit(std::vector<Mutation>{drop, Create("r"), drop});
  EXPECT_EQ(ToString(Answer(results[2]).version), "1/1");
  EXPECT_EQ(ToString(directory_.Do(drop).version), "1/1");
  EXPECT_EQ(directory_.At("r"), "2/1");
}

TEST_F(DirectoryRetry, OfADeletionIsForgottenAfterTenMinutes) {
  directory_.Make("r");
  const Mutation drop = WithId(Delete("r"), "id", 1);
  directory_.Do(drop);
  directory_.now += absl::Minutes(10) + absl::Milliseconds(1);
  EXPECT_TRUE(absl::IsNotFound(directory_.Refused(drop))) << "also when nothing was written since";
  directory_.Reopen();
  EXPECT_TRUE(absl::IsNotFound(directory_.Refused(drop))) << "also when the store has not pruned it yet";
  directory_.Make("r");
  const ring::Version made_anew = directory_.State("r")->head.version;
  EXPECT_EQ(directory_.Do(drop).version, made_anew) << "the new ring is deleted";
  EXPECT_EQ(directory_.At("r"), "absent");
}

TEST_F(DirectoryRetry, ADeletionUnderTheIdOfAChangeIsInvalid) {
  directory_.Make("r");
  directory_.Do(add_);
  const Mutation drop = WithId(Forced(Delete("r")), "id", 2);
  EXPECT_TRUE(absl::IsInvalidArgument(directory_.Refused(drop)));
  EXPECT_EQ(directory_.At("r"), "1/2");
}

// --- validate_only and the guard.

TEST(Directory, ValidateOnlyChangesNothingAndTellsWhatWouldBe) {
  TestDirectory directory;
  const MutationResult create = directory.Do(Checked(Create("r")));
  EXPECT_EQ(ToString(create.version), "0/1") << "no epoch is given out";
  EXPECT_FALSE(create.plan->force_needed);
  EXPECT_EQ(directory.At("r"), "absent");

  directory.Make("r", {"n1", "n2"});
  directory.bursts.clear();
  directory.published.clear();
  const MutationResult add = directory.Do(Checked(Add("r", "n3")));
  EXPECT_EQ(ToString(add.version), "1/3");
  EXPECT_EQ(add.previous_version, add.version);
  EXPECT_EQ(ToString(add.plan->state->head.version), "1/4");
  EXPECT_THAT(NodeIds(*add.plan->state), ElementsAre("n1", "n2", "n3"));
  EXPECT_EQ(add.plan->state->head.checksum, add.plan->state->ring.checksum());
  EXPECT_FALSE(add.plan->force_needed);
  EXPECT_EQ(add.plan->force_reason, "");

  const MutationResult nothing = directory.Do(Checked(Change("r", {WeightOp("n1", 1)})));
  EXPECT_EQ(nothing.plan->state->head.version, nothing.version);

  const MutationResult drop = directory.Do(Checked(Delete("r")));
  EXPECT_EQ(ToString(drop.version), "1/3");
  EXPECT_EQ(drop.plan->state, nullptr);
  EXPECT_TRUE(drop.plan->force_needed);
  EXPECT_THAT(drop.plan->force_reason, HasSubstr("nodes: 2"));

  EXPECT_EQ(directory.At("r"), "1/3");
  EXPECT_THAT(directory.bursts, IsEmpty());
  EXPECT_THAT(directory.published, IsEmpty());
  EXPECT_EQ(directory.Do(Add("r", "n3")).version, add.plan->state->head.version);
  EXPECT_EQ(directory.State("r")->head.checksum, add.plan->state->head.checksum);
}

TEST(Directory, APlanTellsTheMovementThatThenHappens) {
  TestDirectory directory;
  directory.Make("r", {"n1", "n2"});
  const ring::Ring before = directory.State("r")->ring;
  for (const Mutation& mutation : {Add("r", "n3"), Change("r", {WeightOp("n1", 5)}), Change("r", {RemoveOp("n2")}),
                                   Change("r", {WeightOp("n1", 5)}), Forced(Delete("r"))}) {
    const ring::Movement planned = directory.Do(Checked(mutation)).movement;
    EXPECT_EQ(directory.Do(mutation).movement, planned);
  }
  directory.Make("r", {"n1", "n2"});
  const ring::Movement movement = directory.Do(Add("r", "n3")).movement;
  EXPECT_EQ(movement, ring::Compare(before, directory.State("r")->ring));
  EXPECT_GT(movement.moved_share, 0);
}

TEST(Directory, APlanInABurstIsMadeOnWhatComesBeforeItAndSeenByNoneAfterIt) {
  TestDirectory directory;
  directory.Make("r");
  const auto results =
      directory->Commit(std::vector<Mutation>{Add("r", "n1"), Checked(Add("r", "n2")), Add("r", "n3")});
  ASSERT_TRUE(results[1].ok());
  EXPECT_EQ(ToString(results[1]->version), "1/2");
  EXPECT_THAT(NodeIds(*results[1]->plan->state), ElementsAre("n1", "n2"));
  EXPECT_EQ(ToString(results[2]->version), "1/3");
  EXPECT_THAT(directory.Nodes("r"), ElementsAre("n1", "n3"));
}

struct GuardCase {
  std::string name;
  std::map<std::string, uint32_t> before;
  std::vector<ring::Operation> operations;
  bool guarded = false;
};
void PrintTo(const GuardCase& test, std::ostream* out) { *out << test.name; }

class DirectoryGuard : public ::testing::TestWithParam<GuardCase> {};

TEST_P(DirectoryGuard, AsksForForce) {
  const GuardCase& guard = GetParam();
  TestDirectory directory;
  directory.Make("r");
  for (const auto& [node, weight] : guard.before) directory.Do(Add("r", node, weight));
  const std::string before = directory.At("r");
  const Mutation mutation = Change("r", guard.operations);

  const MutationResult plan = directory.Do(Checked(mutation));
  EXPECT_EQ(plan.plan->force_needed, guard.guarded);
  EXPECT_EQ(plan.plan->force_reason.empty(), !guard.guarded);
  const auto result = directory.Try(mutation);
  EXPECT_EQ(result.ok(), !guard.guarded) << result.status();
  if (!guard.guarded) return;
  EXPECT_TRUE(absl::IsFailedPrecondition(result.status())) << result.status();
  EXPECT_EQ(ring::ReasonOf(result.status()), kForceRequired);
  EXPECT_THAT(TextOf(result.status()), HasSubstr("ring \"r\""));
  EXPECT_EQ(directory.At("r"), before);
  EXPECT_TRUE(directory.Try(Forced(mutation)).ok());
}

INSTANTIATE_TEST_SUITE_P(
    Changes, DirectoryGuard,
    ::testing::Values(
        GuardCase{"HalfMayGo", {{"a", 2}, {"b", 2}}, {RemoveOp("a")}},
        GuardCase{"MoreThanHalfMayNot", {{"a", 3}, {"b", 2}}, {RemoveOp("a")}, true},
        GuardCase{"LessThanHalfOfAnOddWeightMayGo", {{"a", 2}, {"b", 3}}, {RemoveOp("a")}},
        GuardCase{"LoweringCountsAsTaking", {{"a", 10}, {"b", 1}}, {WeightOp("a", 4)}, true},
        GuardCase{"LoweringByHalfMayBe", {{"a", 10}, {"b", 2}}, {WeightOp("a", 4)}},
        GuardCase{"ManyOperationsAreSummed", {{"a", 2}, {"b", 2}, {"c", 3}}, {RemoveOp("a"), RemoveOp("b")}, true},
        GuardCase{"AdditionsAreNotSetAgainstIt", {{"a", 3}, {"b", 2}}, {RemoveOp("a"), AddOp("c", 1'000)}, true},
        GuardCase{"RaisingIsNotSetAgainstIt", {{"a", 3}, {"b", 2}}, {RemoveOp("a"), WeightOp("b", 1'000)}, true},
        GuardCase{"TheLastWeightedNodeMayNot", {{"a", 1}, {"b", 0}}, {RemoveOp("a")}, true},
        GuardCase{"ANodeWithoutWeightMayGo", {{"a", 1}, {"b", 0}}, {RemoveOp("b")}},
        GuardCase{"TheLastNodeWithoutWeightMayGo", {{"b", 0}}, {RemoveOp("b")}},
        GuardCase{"AWholeReplacementMayNot", {{"a", 1}}, {RemoveOp("a"), AddOp("b", 1)}, true}),
    [](const auto& test) { return test.param.name; });

// Weights stay, and nobody owns a key any more.
TEST(Directory, TakingTheLastPointOfAWeightedNodeNeedsForce) {
  TestDirectory directory;
  directory.Do({.ring = "r", .what = CreateRing{.settings = {.placement = ring::PointsSettings{}}}, .actor = "test"});
  const auto with_points = [](const std::string& id, std::vector<uint64_t> points, uint32_t weight = 1) {
    ring::AddNode add = AddOp(id, weight);
    add.node.points = std::move(points);
    return add;
  };
  directory.Do(Change("r", {with_points("a", {7, 9}), with_points("b", {}), with_points("idle", {5}, 0)}));
  const auto take = [](const std::string& id) {
    ring::UpdateNode update{.id = id};
    update.points.emplace();
    return update;
  };
  directory.Do(Change("r", {take("idle")}));
  EXPECT_THAT(directory.Do(Checked(Change("r", {take("a")}))).plan->force_reason, HasSubstr("the last point"));
  const absl::Status refused = directory.Refused(Change("r", {take("a")}));
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_EQ(ring::ReasonOf(refused), kForceRequired);
  directory.Do(Forced(Change("r", {take("a")})));
  directory.Do(Change("r", {WeightOp("b", 2)}));  // there is nothing left to take
}

TEST(Directory, DeletingARingWithNodesNeedsForce) {
  TestDirectory directory;
  directory.Make("r");
  directory.Do(Add("r", "n1", 0));  // weight or not
  const absl::Status refused = directory.Refused(Delete("r"));
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_EQ(ring::ReasonOf(refused), kForceRequired);
  EXPECT_EQ(ToString(directory.Do(Forced(Delete("r"))).version), "1/2");
  EXPECT_EQ(directory.At("r"), "absent");
  directory.Make("empty");
  EXPECT_FALSE(directory.Do(Checked(Delete("empty"))).plan->force_needed);
  directory.Do(Delete("empty"));
}

// --- Bursts and stores that refuse.

TEST(Directory, ABurstIsOneCommitOfTheStoreAndOnePublication) {
  TestDirectory directory;
  const auto results = directory->Commit(std::vector<Mutation>{Create("a"), Add("a", "n1"), Create("b")});
  for (const auto& result : results) EXPECT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(directory.bursts, ElementsAre(3));
  EXPECT_THAT(directory.published, ElementsAre(ElementsAre("a", "a", "b")));
  EXPECT_NE(directory.State("a")->log->Get(1), nullptr);
  EXPECT_NE(directory.State("a")->log->Get(2), nullptr);
}

TEST(Directory, NothingIsPublishedWhenTheStoreRefuses) {
  TestDirectory directory;
  directory.Make("r", {"n1"});
  directory.published.clear();
  directory.store_verdict = absl::ResourceExhaustedError("disk full");
  const RingStatePtr before = directory.State("r");
  const std::vector<Mutation> burst = {Add("r", "n2"),
                                       Add("r", "n2"),                    // fails by what was refused
                                       Checked(Add("r", "n3")),           // plans on it
                                       Change("r", {WeightOp("n1", 1)}),  // changes nothing of it
                                       Forced(Delete("r")),
                                       Create("r"),
                                       Create("s"),
                                       Add("absent", "n1")};
  const auto results = directory->Commit(burst);
  for (size_t i = 0; i < 7; ++i) EXPECT_TRUE(absl::IsResourceExhausted(results[i].status())) << i;
  EXPECT_TRUE(absl::IsNotFound(results[7].status())) << "it built on nothing";
  EXPECT_EQ(directory.State("r"), before);
  EXPECT_EQ(before->log->Get(3), nullptr);
  EXPECT_EQ(directory.At("s"), "absent");
  EXPECT_THAT(directory.published, IsEmpty());

  directory.store_verdict = absl::OkStatus();
  EXPECT_EQ(ToString(directory.Do(Add("r", "n2")).version), "1/3");
  EXPECT_NE(before->log->Get(3), nullptr);
}

TEST(Directory, ARefusedDeletionLeavesNoTrace) {
  TestDirectory directory;
  directory.Make("r");
  directory.store_verdict = absl::UnavailableError("disk");
  const Mutation drop = WithId(Delete("r"), "id", 1);
  (void)directory.Refused(drop);
  directory.store_verdict = absl::OkStatus();
  EXPECT_EQ(directory.At("r"), "1/1");
  EXPECT_TRUE(directory.Try(WithId(Delete("r"), "id", 2)).ok()) << "the id was not taken";
}

// A MemoryStore that answers writes to some rings with ABORTED, as a store does that several servers share.
class ContendedStore : public MemoryStore {
 public:
  std::vector<absl::Status> Commit(const std::vector<Write>& writes, absl::Time tombstones_before) override {
    std::vector<Write> taken;
    for (const Write& write : writes) {
      if (!Lost(write)) taken.push_back(write);
    }
    std::vector<absl::Status> of_taken = MemoryStore::Commit(taken, tombstones_before);
    std::vector<absl::Status> results;
    auto next = of_taken.begin();
    for (const Write& write : writes) results.push_back(Lost(write) ? absl::AbortedError("lost") : *next++);
    return results;
  }
  std::string lost_ring;

 private:
  bool Lost(const Write& write) const {
    const auto* put = std::get_if<PutRing>(&write);
    return (put != nullptr ? put->head.name : std::get<DropRing>(write).tombstone.name) == lost_ring;
  }
};

TEST(Directory, ABurstOfWhichTheStoreRefusesAPartPublishesTheRest) {
  ContendedStore store;
  TestDirectory directory(store, {});
  directory.Make("a");
  directory.Make("b");
  directory.published.clear();
  store.lost_ring = "a";
  const auto results = directory->Commit(
      std::vector<Mutation>{Add("a", "n1"), Add("b", "n1"), Add("a", "n2"), Add("b", "n2"), Forced(Delete("a"))});
  std::vector<bool> accepted;
  for (const auto& result : results) accepted.push_back(result.ok());
  EXPECT_THAT(accepted, ElementsAre(false, true, false, true, false));
  EXPECT_TRUE(absl::IsAborted(results[2].status()));
  EXPECT_EQ(directory.At("a"), "1/1");
  EXPECT_EQ(directory.At("b"), "2/3");
  EXPECT_THAT(directory.published, ElementsAre(ElementsAre("b", "b")));
  EXPECT_THAT(directory.writable, IsEmpty()) << "a lost race is no fault of the store";
  store.lost_ring = "";
  EXPECT_EQ(ToString(directory.Do(Add("a", "n2")).version), "1/2");
}

TEST(Directory, TellsWhetherTheStoreIsWritableWhenThatChanges) {
  TestDirectory directory;
  directory.Make("r", {"n1"});
  EXPECT_THAT(directory.writable, IsEmpty());
  directory.store_verdict = absl::ResourceExhaustedError("disk full");
  (void)directory.Refused(Add("r", "n2"));
  (void)directory.Refused(Add("r", "n2"));
  EXPECT_THAT(directory.writable, ElementsAre(false));
  directory.Do(Checked(Add("r", "n2")));
  EXPECT_THAT(directory.writable, ElementsAre(false)) << "what writes nothing tells nothing";
  directory.store_verdict = absl::OkStatus();
  directory.Do(Add("r", "n2"));
  directory.Do(Add("r", "n3"));
  EXPECT_THAT(directory.writable, ElementsAre(false, true));
}

// --- Starting on a store.

TEST(Directory, AStartFindsWhatWasCommitted) {
  TestDirectory directory;
  directory.Make("a", {"n2", "n1"});
  directory.Make("b");
  directory.now += absl::Seconds(5);
  directory.Do(Change("a", {AddOp("n3", 7, "10.0.0.3:1")}));
  const RingStatePtr before = directory.State("a");
  directory.Reopen();
  const RingStatePtr after = directory.State("a");
  EXPECT_EQ(after->head, before->head);
  EXPECT_EQ(after->ring.checksum(), before->ring.checksum());
  EXPECT_EQ(after->ring.node(2), before->ring.node(2));
  EXPECT_EQ(after->head.update_time - after->head.create_time, absl::Seconds(5));
  EXPECT_EQ(after->log->Get(before->head.version.revision), nullptr) << "the window begins anew";
  EXPECT_EQ(directory.At("b"), "2/1");
  EXPECT_EQ(directory.Do(Add("a", "n4")).version.revision, 5u);
  EXPECT_EQ(directory.State("a")->ring.node(3).join_number, 4u) << "join numbers go on";
}

// A store that loads what it is told to.
class PrefilledStore : public MemoryStore {
 public:
  explicit PrefilledStore(absl::StatusOr<StoreContents> contents) : contents_(std::move(contents)) {}
  absl::StatusOr<StoreContents> Load() override { return contents_; }

 private:
  absl::StatusOr<StoreContents> contents_;
};

absl::Status OpenStatus(absl::StatusOr<StoreContents> contents) {
  PrefilledStore store(std::move(contents));
  return Directory::Open(store, {}).status();
}

TEST(Directory, NodesThatDoNotGiveTheStoredChecksumAreDataLoss) {
  TestDirectory directory;
  directory.Make("a", {"n1"});
  directory.Make("r", {"n1"});
  directory.Make("z", {"n1"});
  StoreContents contents = *directory.store().Load();
  EXPECT_TRUE(OpenStatus(contents).ok());
  contents.rings[1].nodes[0].weight++;
  const absl::Status lost = OpenStatus(contents);
  EXPECT_TRUE(absl::IsDataLoss(lost)) << lost;
  EXPECT_THAT(TextOf(lost), HasSubstr("ring \"r\""));
  EXPECT_TRUE(absl::IsUnavailable(OpenStatus(absl::UnavailableError("no disk"))));
}

// --- History.

// Revisions of the ring's change records that the store keeps.
std::vector<uint64_t> Kept(TestDirectory& directory) {
  std::vector<uint64_t> revisions;
  const ring::Version head = directory.State("r")->head.version;
  for (uint64_t revision = 1; revision <= head.revision; ++revision) {
    if (!directory.store().ReadChanges("r", head.epoch, revision, 1, SIZE_MAX)->empty()) revisions.push_back(revision);
  }
  return revisions;
}

TEST(Directory, KeepsAsManyChangesAsTheLimitSays) {
  TestDirectory directory({.history_max = 3});
  directory.Make("r", {"n1", "n2"});
  EXPECT_THAT(Kept(directory), ElementsAre(1, 2, 3));
  directory.Do(Add("r", "n3"));
  EXPECT_THAT(Kept(directory), ElementsAre(2, 3, 4));
}

TEST(Directory, TheRingsOwnLimitGoesBeforeTheServers) {
  TestDirectory directory({.history_max = 3});
  directory.Do({.ring = "r", .what = CreateRing{.history_limits = {.max_changes = 1}}});
  directory.Do(Add("r", "n1"));
  EXPECT_THAT(Kept(directory), ElementsAre(2));
  directory.Do(Forced(Delete("r")));
  directory.Do({.ring = "r", .what = CreateRing{.history_limits = {.max_changes = 5}}});
  for (const char* node : {"n1", "n2", "n3", "n4", "n5"}) directory.Do(Add("r", node));
  EXPECT_THAT(Kept(directory), ElementsAre(2, 3, 4, 5, 6));
}

TEST(Directory, ChangesOlderThanTheAgeGoButNeverTheHead) {
  TestDirectory directory({.history_age = absl::Hours(1)});
  directory.Make("r", {"n1"});
  directory.now += absl::Hours(1);
  directory.Do(Add("r", "n2"));
  EXPECT_THAT(Kept(directory), ElementsAre(1, 2, 3)) << "just as old as they may be";
  directory.now += absl::Seconds(1);
  directory.Do(Add("r", "n3"));
  EXPECT_THAT(Kept(directory), ElementsAre(3, 4));
  directory.now += absl::Hours(100);
  directory.Do(Add("r", "n4"));
  EXPECT_THAT(Kept(directory), ElementsAre(5));
}

TEST(Directory, AChangeIsStoredWithWhoMadeItAndWhy) {
  TestDirectory directory;
  directory.Make("r");
  directory.now += absl::Seconds(9);
  Mutation mutation = WithId(Add("r", "n1"), "id", 77);
  mutation.reason = "growth";
  mutation.actor = "10.1.1.1:5";
  const uint64_t from_checksum = directory.State("r")->head.checksum;
  directory.Do(mutation);
  const auto changes = directory.store().ReadChanges("r", 1, 2, 10, SIZE_MAX);
  ASSERT_EQ(changes->size(), 1u);
  const ChangeRecord& change = changes->front();
  EXPECT_EQ(change.from_checksum, from_checksum);
  EXPECT_EQ(change.checksum, directory.State("r")->head.checksum);
  EXPECT_EQ(change.time, directory.now);
  EXPECT_EQ(change.actor, "10.1.1.1:5");
  EXPECT_EQ(change.reason, "growth");
  EXPECT_EQ(change.request_id, "id");
  EXPECT_EQ(change.request_fingerprint, 77u);
  ASSERT_EQ(change.nodes.size(), 1u);
  EXPECT_EQ(change.nodes[0].before, nullptr);
  EXPECT_EQ(change.nodes[0].after->id, "n1");
}

}  // namespace
}  // namespace ringd::server
