// The command line of ringd: each option at its bounds and one beyond, and what ringd shall do next.
#include "server/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace ringd::server {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Outcome {
  ParsedOptions parsed;
  std::string out, err;
};

Outcome Parse(std::vector<std::string> words) {
  words.insert(words.begin(), "ringd");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  Outcome outcome;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  outcome.parsed = ParseOptions(static_cast<int>(argv.size()), argv.data());
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.err = testing::internal::GetCapturedStderr();
  return outcome;
}

Options Accepted(std::vector<std::string> words) {
  words.insert(words.end(), {"--data-dir", "data"});
  const Outcome outcome = Parse(words);
  EXPECT_TRUE(outcome.parsed.run) << outcome.err;
  EXPECT_EQ(outcome.parsed.exit_code, 0);
  EXPECT_EQ(outcome.out + outcome.err, "");
  return outcome.parsed.options;
}

// A wrong command line: exit 2, and a text on stderr that says what is wrong and where help is.
std::string Refused(const std::vector<std::string>& words) {
  const Outcome outcome = Parse(words);
  const std::string line = testing::PrintToString(words);
  EXPECT_FALSE(outcome.parsed.run) << line;
  EXPECT_EQ(outcome.parsed.exit_code, 2) << line;
  EXPECT_EQ(outcome.out, "") << line;
  EXPECT_THAT(outcome.err, StartsWith("error: ")) << line;
  EXPECT_THAT(outcome.err, EndsWith(".\n")) << line;
  return outcome.err;
}

TEST(Options, TheDefaultsAreThoseOfTheContract) {
  const Options options = Accepted({});
  EXPECT_EQ(options.listen, std::vector<std::string>{"127.0.0.1:7440"});
  EXPECT_FALSE(options.has_certificates());
  EXPECT_EQ(options.http_listen, "127.0.0.1:7441");
  EXPECT_EQ(options.metrics_listen, "");
  EXPECT_EQ(options.data_dir, "data");
  EXPECT_FALSE(options.init);
  EXPECT_EQ(options.history_age, absl::Hours(720));
  EXPECT_EQ(options.heartbeat_interval, std::chrono::seconds(10));
  EXPECT_EQ(options.drain_timeout, std::chrono::seconds(5));
}

TEST(Options, TextsAreTakenAsTheyStand) {
  const Options options = Accepted({"--listen", "unix:///run/ringd.sock", "--http-listen", "", "--init"});
  EXPECT_EQ(options.listen, std::vector<std::string>{"unix:///run/ringd.sock"});
  EXPECT_EQ(options.http_listen, "");
  EXPECT_TRUE(options.init);
}

TEST(Options, ListsAreRepeatedOrHaveCommas) {
  const std::vector<std::string> certificates = {"--tls-cert-file",      "c", "--tls-key-file", "k",
                                                 "--tls-client-ca-file", "a"};
  std::vector<std::string> words = {"--listen",
                                    "unix:/s,127.0.0.1:1",
                                    "--listen=[::1]:2",
                                    "--admin-san",
                                    "spiffe://a/b",
                                    "--admin-san=c.example.org,d",
                                    "--allow-plaintext=127.0.0.1:1"};
  words.insert(words.end(), certificates.begin(), certificates.end());
  const Options options = Accepted(words);
  EXPECT_EQ(options.listen, (std::vector<std::string>{"unix:/s", "127.0.0.1:1", "[::1]:2"}));
  EXPECT_EQ(options.admin_sans, (std::vector<std::string>{"spiffe://a/b", "c.example.org", "d"}));
  EXPECT_EQ(options.allow_plaintext, std::vector<std::string>{"127.0.0.1:1"});
  EXPECT_TRUE(options.has_certificates());
  EXPECT_EQ(options.certificates, (CertificateFiles{"c", "k", "a"}));
}

TEST(Options, FilesOfTlsGoTogether) {
  const std::vector<std::string> names = {"--tls-cert-file", "--tls-key-file", "--tls-client-ca-file"};
  for (const std::string& missing : names) {
    std::vector<std::string> words = {"--data-dir", "data"};
    for (const std::string& name : names) {
      if (name != missing) words.insert(words.end(), {name, "file"});
    }
    EXPECT_THAT(Refused(words), HasSubstr(missing + " is missing"));
  }
  EXPECT_THAT(Refused({"--data-dir", "data", "--admin-san", "a"}),
              HasSubstr("--admin-san means nothing without --tls-cert-file"));
}

TEST(Options, NumbersHaveTheirBounds) {
  const struct {
    std::string name;
    std::function<uint64_t(const Options&)> value;
    uint64_t by_default;
  } numbers[] = {
      {"--max-rings", [](const Options& o) { return o.max_rings; }, 10'000},
      {"--max-nodes", [](const Options& o) { return o.ring_limits.max_nodes; }, 10'000},
      {"--max-points", [](const Options& o) { return o.ring_limits.max_points; }, 4'194'304},
      {"--max-key-bytes", [](const Options& o) { return o.request_limits.max_key_bytes; }, 4'096},
      {"--max-batch-keys", [](const Options& o) { return o.request_limits.max_batch_keys; }, 10'000},
      {"--max-request-bytes", [](const Options& o) { return o.max_request_bytes; }, 1'048'576},
      {"--max-watches-per-connection", [](const Options& o) { return o.max_watches_per_connection; }, 100},
      {"--metrics-max-nodes", [](const Options& o) { return o.metrics_max_nodes; }, 100},
      {"--metrics-max-series", [](const Options& o) { return o.metrics_max_series; }, 10'000},
      {"--history-max", [](const Options& o) { return o.history_max; }, 100'000},
  };
  for (const auto& number : numbers) {
    SCOPED_TRACE(number.name);
    EXPECT_EQ(number.value(Accepted({})), number.by_default);
    for (const uint64_t value : {1, 1'000'000'000}) {
      EXPECT_EQ(number.value(Accepted({number.name, std::to_string(value)})), value);
    }
    for (const std::string value : {"0", "-1", "1.5", "x", "1x", "", "1000000001", "99999999999999999999"}) {
      EXPECT_THAT(Refused({"--data-dir", "data", number.name, value}), HasSubstr(number.name)) << value;
    }
  }
}

TEST(Options, DurationsHaveTheirBounds) {
  const struct {
    std::string name;
    std::function<absl::Duration(const Options&)> value;
    std::string most, over;
  } durations[] = {
      {"--history-age", [](const Options& o) { return o.history_age; }, "876000h", "876000h1ms"},
      {"--heartbeat-interval", [](const Options& o) { return absl::FromChrono(o.heartbeat_interval); }, "24h",
       "24h1ms"},
      {"--drain-timeout", [](const Options& o) { return absl::FromChrono(o.drain_timeout); }, "24h", "24h1ms"},
  };
  for (const auto& duration : durations) {
    SCOPED_TRACE(duration.name);
    for (const std::string& text : {std::string("1ms"), std::string("1h30m"), duration.most}) {
      absl::Duration expected;
      ASSERT_TRUE(absl::ParseDuration(text, &expected));
      EXPECT_EQ(duration.value(Accepted({duration.name, text})), expected);
    }
    for (const std::string& text :
         {std::string("999us"), std::string("0"), std::string("-1s"), std::string("inf"), duration.over}) {
      const std::string error = Refused({"--data-dir", "data", duration.name, text});
      EXPECT_THAT(error, HasSubstr(duration.name));
      EXPECT_THAT(error, HasSubstr("\"" + text + "\" is not within 1ms and " + duration.most));
    }
    for (const std::string text : {"10", "x", "", "1d", "1 s"}) {
      const std::string error = Refused({"--data-dir", "data", duration.name, text});
      EXPECT_THAT(error, HasSubstr(duration.name));
      EXPECT_THAT(error, HasSubstr("\"" + text + "\" is not a duration such as 10s, 500ms or 720h"));
    }
  }
}

TEST(Options, AWrongCommandLineIsToldWhatIsWrong) {
  EXPECT_THAT(Refused({"--data-dir", "data", "--no-such-option"}), HasSubstr("--no-such-option"));
  EXPECT_THAT(Refused({"--data-dir", "data", "extra"}), HasSubstr("extra"));
  EXPECT_THAT(Refused({"--data-dir"}), HasSubstr("--data-dir"));
  EXPECT_THAT(Refused({"--data-dir", "a", "--data-dir", "b"}), HasSubstr("--data-dir"));
  EXPECT_THAT(Refused({}), HasSubstr("--data-dir is missing"));
  EXPECT_THAT(Refused({"--data-dir", ""}), HasSubstr("--data-dir is missing"));
}

TEST(Options, VersionAndHelpArePrintedAndNothingIsRun) {
  for (const auto& words : {std::vector<std::string>{"--version"}, {"--help"}, {"-h"}}) {
    const Outcome outcome = Parse(words);
    EXPECT_FALSE(outcome.parsed.run);
    EXPECT_EQ(outcome.parsed.exit_code, 0);
    EXPECT_EQ(outcome.err, "");
  }
  EXPECT_EQ(Parse({"--version"}).out, "ringd " RINGD_VERSION "\n");
  const std::string help = Parse({"--help"}).out;
  for (const char* word : {"--listen",
                           "127.0.0.1:7440",
                           "--http-listen",
                           "127.0.0.1:7441",
                           "--data-dir",
                           "--init",
                           "--history-age",
                           "720h",
                           "--history-max",
                           "--heartbeat-interval",
                           "10s",
                           "--drain-timeout",
                           "5s",
                           "--max-rings",
                           "--max-nodes",
                           "--max-points",
                           "--max-key-bytes",
                           "--max-batch-keys",
                           "--max-request-bytes",
                           "--max-watches-per-connection",
                           "--metrics-listen",
                           "--metrics-max-nodes",
                           "--metrics-max-series"}) {
    EXPECT_THAT(help, HasSubstr(word));
  }
}

}  // namespace
}  // namespace ringd::server
