#include "client/ringctl/command_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ringd::ctl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::internal::CaptureStderr;
using testing::internal::GetCapturedStderr;

// A small tree: `tool pot get POT`, `tool pot fill POT TEA...`, `tool pot make POT`,
// `tool pot draw POT FILE`, `tool wash [POT]`, `tool list`.
class CommandTreeTest : public testing::Test {
 protected:
  CommandTreeTest() {
    tree_.AddFlag(tree_.root(), {"-o,--output", "FORMAT", "the form", "", {"table", "json"}}, Into(&output_));
    tree_.AddFlag(tree_.root(), {"--cert", "FILE", "a file"}, Into(&cert_));
    CommandTree::Node* pot = tree_.AddGroup("pot", "about pots");
    tree_.AddCommand(pot, "get", "show a pot", {{"POT"}, LastWord::kOnce, Keep()});
    CommandTree::Node* fill = tree_.AddCommand(pot, "fill", "fill a pot", {{"POT", "TEA"}, LastWord::kRepeats, Keep()});
    CommandTree::AddSwitch(fill, "-q,--quick", &quick_, "at once");
    tree_.AddCommand(pot, "make", "make a pot", {{"POT"}, LastWord::kIsNew, Keep()});
    tree_.AddCommand(pot, "draw", "draw a pot", {{"POT", "FILE"}, LastWord::kOnce, Keep()});
    tree_.AddCommand(tree_.root(), "wash", "wash a pot, or all", {{"POT"}, LastWord::kOptional, Keep()});
    tree_.AddCommand(tree_.root(), "list", "list the pots", {{}, LastWord::kOnce, Keep()});
  }

  static std::function<absl::Status(const std::string&)> Into(std::string* value) {
    return [value](const std::string& text) {
      if (text == "bad") return absl::InvalidArgumentError("bad is no value");
      *value = text;
      return absl::OkStatus();
    };
  }
  std::function<ExitCode(const Words&)> Keep() {
    return [this](const Words& words) {
      words_ = words;
      return ExitCode::kOk;
    };
  }

  // What the tree says of a command line that makes no sense.
  std::string Refused(const Words& arguments) {
    CaptureStderr();
    EXPECT_EQ(tree_.Run(arguments), ExitCode::kUsage);
    return GetCapturedStderr();
  }

  static Words Texts(const Place& place) {
    Words texts;
    for (const Candidate& candidate : place.candidates) texts.push_back(candidate.text);
    return texts;
  }

  CommandTree tree_{"tool", "about", "footer"};
  std::string output_;
  std::string cert_;
  bool quick_ = false;
  Words words_;
};

TEST_F(CommandTreeTest, TakesFlagsBeforeAndBehindTheVerb) {
  EXPECT_EQ(tree_.Run({"-o", "json", "pot", "fill", "p", "--quick", "a", "--cert=", "b"}), ExitCode::kOk);
  EXPECT_THAT(words_, ElementsAre("p", "a", "b"));
  EXPECT_EQ(output_, "json");
  EXPECT_TRUE(quick_);
}

TEST_F(CommandTreeTest, WordsMayBeAnything) {
  EXPECT_EQ(tree_.Run({"pot", "fill", "fill", "-5", "[a,b]", "++", "-", "", "--", "--quick"}), ExitCode::kOk);
  EXPECT_THAT(words_, ElementsAre("fill", "-5", "[a,b]", "++", "-", "", "--quick"));
  EXPECT_FALSE(quick_);
}

TEST_F(CommandTreeTest, GuessesWhatWasMeant) {
  EXPECT_THAT(Refused({"pto", "get"}), HasSubstr("hint: did you mean `tool pot`?"));
}

TEST_F(CommandTreeTest, GuessesAVerb) {
  EXPECT_THAT(Refused({"pot", "git"}), HasSubstr("hint: did you mean `tool pot get`?"));
}

TEST_F(CommandTreeTest, GuessesAFlag) {
  EXPECT_THAT(Refused({"pot", "fill", "--quik"}), HasSubstr("hint: did you mean --quick?"));
}

TEST_F(CommandTreeTest, GuessesAValue) {
  const std::string text = Refused({"list", "-o", "jsno"});
  EXPECT_THAT(text, HasSubstr("--output \"jsno\" is none of table, json"));
  EXPECT_THAT(text, HasSubstr("hint: did you mean json?"));
}

TEST_F(CommandTreeTest, ShowsWhatAValueIsRefusedFor) {
  EXPECT_THAT(Refused({"list", "--cert", "bad"}), HasSubstr("error: bad is no value\nhint: `tool list --help`"));
}

TEST_F(CommandTreeTest, CountsWords) {
  EXPECT_THAT(Refused({"pot", "get"}), HasSubstr("too few arguments: get takes POT, POT is missing"));
}

TEST_F(CommandTreeTest, CountsWordsThatAreTooMany) {
  EXPECT_THAT(Refused({"pot", "get", "a", "b"}), HasSubstr("\"b\" is left over"));
}

TEST_F(CommandTreeTest, AnOptionalWordMayBeLeftOut) {
  EXPECT_EQ(tree_.Run({"wash"}), ExitCode::kOk);
  EXPECT_THAT(words_, testing::IsEmpty());
}

TEST_F(CommandTreeTest, AnOptionalWordIsTakenOnceAndCompleted) {
  EXPECT_EQ(tree_.Locate({"wash", "p"}).word, "POT");
  EXPECT_EQ(tree_.Locate({"wash", "p", "q"}).kind, Place::Kind::kNothing);
  EXPECT_THAT(Refused({"wash", "a", "b"}), HasSubstr("wash takes [POT], and \"b\" is left over"));
}

TEST_F(CommandTreeTest, LocatesCommands) {
  const Place top = tree_.Locate({"p"});
  EXPECT_EQ(top.kind, Place::Kind::kCandidates);
  EXPECT_THAT(Texts(top), ElementsAre("pot", "wash", "list"));
  EXPECT_EQ(top.begun, "p");
}

TEST_F(CommandTreeTest, LocatesCommandsBehindFlagsAndHelp) {
  EXPECT_THAT(Texts(tree_.Locate({"help", "pot", ""})), ElementsAre("get", "fill", "make", "draw"));
  EXPECT_THAT(Texts(tree_.Locate({"pot", "--cert", "x", ""})), ElementsAre("get", "fill", "make", "draw"));
}

TEST_F(CommandTreeTest, LocatesFlagsOfTheCommandAndOfAll) {
  EXPECT_THAT(Texts(tree_.Locate({"pot", "fill", "p", "--"})),
              testing::UnorderedElementsAre("--help", "--quick", "--output", "--cert"));
  EXPECT_EQ(tree_.Locate({"--"}).candidates.at(1).help, "the form: table, json");
}

TEST_F(CommandTreeTest, LocatesValues) {
  for (const Words& arguments : {Words{"list", "-o", "j"}, Words{"-o", "j"}, Words{"list", "--output", "j"}}) {
    EXPECT_THAT(Texts(tree_.Locate(arguments)), ElementsAre("table", "json"));
  }
  EXPECT_EQ(tree_.Locate({"list", "--cert", "/e"}).kind, Place::Kind::kFile);
}

TEST_F(CommandTreeTest, LocatesValuesBehindAnEqualsSign) {
  const Place place = tree_.Locate({"list", "--output=j"});
  EXPECT_THAT(Texts(place), ElementsAre("table", "json"));
  EXPECT_EQ(place.before, "--output=");
  EXPECT_EQ(place.begun, "j");
  EXPECT_EQ(tree_.Locate({"list", "--cert="}).kind, Place::Kind::kFile);
}

TEST_F(CommandTreeTest, LocatesWordsAndSetsTheFlagsBeforeThem) {
  const Place pot = tree_.Locate({"--cert", "c", "pot", "fill", ""});
  EXPECT_EQ(pot.kind, Place::Kind::kWord);
  EXPECT_EQ(pot.word, "POT");
  EXPECT_EQ(cert_, "c");
}

TEST_F(CommandTreeTest, LocatesAWordThatIsAFile) {
  EXPECT_EQ(tree_.Locate({"pot", "draw", ""}).kind, Place::Kind::kWord);
  const Place file = tree_.Locate({"pot", "draw", "p", "/e"});
  EXPECT_EQ(file.kind, Place::Kind::kFile);
  EXPECT_EQ(file.begun, "/e");
}

TEST_F(CommandTreeTest, LocatesWordsThatComeAgain) {
  for (const Words& arguments : {Words{"pot", "fill", "p", "x"}, Words{"pot", "fill", "p", "a", "--", "-x"}}) {
    const Place place = tree_.Locate(arguments);
    EXPECT_EQ(place.word, "TEA");
    EXPECT_EQ(place.words.front(), "p");
    EXPECT_EQ(place.begun, arguments.back());
  }
}

TEST_F(CommandTreeTest, LocatesNothingWhereNothingIsKnown) {
  for (const Words& arguments : {Words{}, Words{"pot", "make", "p"}, Words{"pot", "get", "p", ""}, Words{"list", ""},
                                 Words{"pto", ""}, Words{"list", "--frob", ""}, Words{"list", "--frob="}}) {
    const Place place = tree_.Locate(arguments);
    EXPECT_TRUE(place.kind == Place::Kind::kNothing && place.candidates.empty());
  }
}

}  // namespace
}  // namespace ringd::ctl
