// A line of the log is one line, and JSON where it shall be, whatever bytes are in it.
#include "server/log_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "spdlog/sinks/ostream_sink.h"
#include "spdlog/spdlog.h"

namespace ringd::server {
namespace {

using ::testing::EndsWith;
using ::testing::MatchesRegex;

constexpr size_t kMaxBytes = 4'096;

class LogLineTest : public ::testing::Test {
 protected:
  LogLineTest() : before_(spdlog::default_logger()) {}
  ~LogLineTest() override { spdlog::set_default_logger(before_); }

  // The line that the event becomes, without its end.
  template <class Log>
  std::string Line(LogFormat format, Log log) {
    auto logger = std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_st>(out_));
    logger->set_formatter(std::make_unique<LineFormatter>(format, kMaxBytes));
    spdlog::set_default_logger(logger);
    out_.str("");
    log();
    std::string line = out_.str();
    EXPECT_THAT(line, EndsWith("\n"));
    line.pop_back();
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    return line;
  }
  static nlohmann::json Parsed(const std::string& line) {
    EXPECT_LT(line.size(), kMaxBytes);
    for (const char c : line) EXPECT_TRUE(c >= ' ' && c < 127) << line;
    return nlohmann::json::parse(line);
  }

 private:
  std::shared_ptr<spdlog::logger> before_;
  std::ostringstream out_;
};

const LogFields kFields = {{"ring", "cache"}, {"node", "n\n1"}, {"epoch", uint64_t{18446744073709551615u}}};

TEST_F(LogLineTest, TextIsForPeople) {
  EXPECT_THAT(Line(LogFormat::kText, [] { spdlog::info("hello \"world\""); }),
              MatchesRegex("20..-..-..T..:..:..\\.......Z info hello \"world\""));
  EXPECT_THAT(Line(LogFormat::kText, [] { LogEvent(spdlog::level::warn, "AddNode", kFields); }),
              EndsWith("Z warning AddNode ring \"cache\" node \"n\\x0A1\" epoch 18446744073709551615"));
  EXPECT_THAT(Line(LogFormat::kText, [] { spdlog::info("after"); }), EndsWith("Z info after")) << "fields of another";
}

TEST_F(LogLineTest, TextEscapesWhatWouldBreakALineOrATerminal) {
  EXPECT_THAT(Line(LogFormat::kText, [] { spdlog::info("a\r\nb\x1b[31m\x7f\xff\xe2\x80\xae \xc3\xa9"); }),
              EndsWith("info a\\x0D\\x0Ab\\x1B[31m\\x7F\\xFF\\xE2\\x80\\xAE \xc3\xa9"));
}

TEST_F(LogLineTest, JsonHasTimeLevelMessageAndFields) {
  const auto object = Parsed(Line(LogFormat::kJson, [] { LogEvent(spdlog::level::info, "AddNode", kFields); }));
  EXPECT_THAT(object["time"].get<std::string>(), MatchesRegex("20..-..-..T..:..:..\\.......Z"));
  EXPECT_EQ(object["level"], "info");
  EXPECT_EQ(object["msg"], "AddNode");
  EXPECT_EQ(object["ring"], "cache");
  EXPECT_EQ(object["node"], "n\n1");
  EXPECT_EQ(object["epoch"], 18446744073709551615u);
  EXPECT_EQ(object.size(), 6u);
}

TEST_F(LogLineTest, JsonIsJsonForAnyBytes) {
  for (int byte = 0; byte < 256; byte++) {
    for (const std::string& text : {std::string(1, static_cast<char>(byte)), std::string(2, static_cast<char>(byte)),
                                    "\xe2\x80" + std::string(1, static_cast<char>(byte)) + "\"\\"}) {
      const auto object = Parsed(Line(LogFormat::kJson, [&text] {
        LogEvent(spdlog::level::info, text, {{"reason", text}});
      }));
      EXPECT_EQ(object.size(), 4u);
      if (byte < 128 && text.size() < 3) {
        EXPECT_EQ(object["reason"], text);
      }
    }
  }
}

TEST_F(LogLineTest, AJsonLineThatIsTooLongLosesTextAndStaysJson) {
  for (const std::string& text : {std::string(100'000, 'x'), std::string(5'000, '\0'), std::string(4'000, '\xff')}) {
    const auto object = Parsed(Line(LogFormat::kJson, [&text] {
      LogEvent(spdlog::level::info, text, {{"ring", "r"}, {"reason", text}, {"actor", text}});
    }));
    EXPECT_EQ(object["ring"], "r");
    EXPECT_GT(object["reason"].get<std::string>().size(), 100u);
  }
}

}  // namespace
}  // namespace ringd::server
