#include "client/ringctl/nginx_statement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ringd::ctl {
namespace {

using testing::ElementsAre;
using End = NginxStatement::End;

std::vector<std::string> FirstWords(std::string_view content) {
  const absl::StatusOr<NginxStatement> statement = NginxStatements("f", content).Next();
  EXPECT_TRUE(statement.ok()) << statement.status();
  return statement.ok() ? statement->words : std::vector<std::string>();
}

TEST(NginxStatements, ComeOneAfterTheOther) {
  NginxStatements statements("f", "a b;\n# c;\nd\n{ e; }");
  const End ends[] = {End::kSemicolon, End::kOpens, End::kSemicolon, End::kCloses, End::kFile};
  const int lines[] = {1, 3, 4, 4, 4};
  for (std::size_t i = 0; i < std::size(ends); ++i) {
    const absl::StatusOr<NginxStatement> statement = statements.Next();
    ASSERT_TRUE(statement.ok()) << statement.status();
    EXPECT_EQ(statement->end, ends[i]) << i;
    EXPECT_EQ(statement->line, lines[i]) << i;
  }
}

TEST(NginxStatements, WordsAreThoseOfNginx) {
  EXPECT_THAT(FirstWords("a 'b c' \"d;\" e#f g\\;h;"), ElementsAre("a", "b c", "d;", "e#f", "g\\;h"));
  EXPECT_THAT(FirstWords("${a}b $c{"), ElementsAre("${a}b", "$c"));
  EXPECT_THAT(FirstWords(R"("a\"b\\c\td" 'e\'f\x';)"), ElementsAre("a\"b\\c\td", "e'f\\x"));
}

}  // namespace
}  // namespace ringd::ctl
