// The settings of ringd: each at its bounds and one beyond, from each of the three places, and which of them counts.
#include "server/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <functional>
#include <vector>

#include "tests/server/store_test_data.h"

namespace ringd::server {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ParsedOptions Parse(const std::vector<std::string>& words, const std::vector<std::string>& environment = {}) {
  return ParseOptions({.arguments = words, .environment = environment});
}

Options Accepted(std::vector<std::string> words, const std::vector<std::string>& environment = {}) {
  words.insert(words.end(), {"--data-dir", "data"});
  const ParsedOptions parsed = Parse(words, environment);
  EXPECT_THAT(parsed.errors, IsEmpty());
  EXPECT_THAT(parsed.warnings, IsEmpty());
  EXPECT_EQ(parsed.text, "");
  return parsed.options;
}

// Settings that are wrong: one line that says why.
std::string Refused(const std::vector<std::string>& words, const std::vector<std::string>& environment = {}) {
  const ParsedOptions parsed = Parse(words, environment);
  EXPECT_EQ(parsed.errors.size(), 1u) << testing::PrintToString(words);
  EXPECT_EQ(parsed.text, "");
  return parsed.errors.empty() ? "" : parsed.errors.front();
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
  EXPECT_EQ(options.max_connection_age, std::chrono::hours(1));
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
      {"--max-watches", [](const Options& o) { return o.max_watches; }, 20'000},
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
      {"--max-connection-age", [](const Options& o) { return absl::FromChrono(o.max_connection_age); }, "876000h",
       "876000h1ms"},
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
  EXPECT_EQ(Refused({"--data-dir", "data", "--frobnicate=1"}), "unknown flag \"--frobnicate\"");
  EXPECT_EQ(Refused({"--data-dri", "data"}), "unknown flag \"--data-dri\"; did you mean \"--data-dir\"?");
  EXPECT_EQ(Refused({"--data-dir", "data", "extra"}), "unexpected argument \"extra\"");
  EXPECT_THAT(Refused({"--data-dir"}), HasSubstr("--data-dir"));
  EXPECT_THAT(Refused({"--data-dir", "a", "--data-dir", "b"}), HasSubstr("--data-dir"));
  EXPECT_THAT(Refused({}), HasSubstr("--data-dir is missing"));
  EXPECT_THAT(Refused({"--data-dir", ""}), HasSubstr("--data-dir is missing"));
}

TEST(Options, VersionAndHelpAreTextsToPrint) {
  for (const auto& words : {std::vector<std::string>{"--version"}, {"--help"}, {"-h"}}) {
    const ParsedOptions parsed = Parse(words);
    EXPECT_THAT(parsed.errors, IsEmpty());
    EXPECT_NE(parsed.text, "");
  }
  EXPECT_EQ(Parse({"--version"}).text, "ringd " RINGD_VERSION "\n");
  const std::string help = Parse({"--help"}).text;
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
                           "--max-connection-age",
                           "1h",
                           "--drain-timeout",
                           "5s",
                           "--max-rings",
                           "--max-nodes",
                           "--max-points",
                           "--max-key-bytes",
                           "--max-batch-keys",
                           "--max-request-bytes",
                           "--max-watches-per-connection",
                           "--max-watches",
                           "--metrics-listen",
                           "--metrics-max-nodes",
                           "--metrics-max-series",
                           "--config",
                           "--check-config",
                           "--log-level",
                           "--log-format",
                           "--tls-cert-file",
                           "--admin-san",
                           "--allow-plaintext"}) {
    EXPECT_THAT(help, HasSubstr(word));
  }
}

TEST(Options, TheLogHasALevelAndAFormat) {
  EXPECT_EQ(Accepted({}).log_level, "info");
  EXPECT_EQ(Accepted({}).log_format, LogFormat::kText);
  EXPECT_EQ(Accepted({"--log-level", "debug"}).log_level, "debug");
  EXPECT_EQ(Accepted({"--log-format", "json"}).log_format, LogFormat::kJson);
  for (const std::string wrong : {"", "verbose", "INFO"}) {
    EXPECT_THAT(Refused({"--data-dir", "data", "--log-level", wrong}), HasSubstr("--log-level"));
    EXPECT_THAT(Refused({"--data-dir", "data", "--log-format", wrong}), HasSubstr("--log-format"));
  }
}

class ConfiguredTest : public ::testing::Test {
 protected:
  // A file with that content, named by --config.
  std::vector<std::string> File(const std::string& content) const {
    std::ofstream(file_) << content;
    return {"--config", file_};
  }
  std::string RefusedFile(const std::string& content) const { return Refused(File("data-dir: data\n" + content)); }

  TempDir temp_;
  const std::string file_ = temp_ / "ringd.yaml";
};

TEST_F(ConfiguredTest, TheThreePlacesSayTheSameThings) {
  const std::vector<std::string> words = {"--listen=unix:/s,127.0.0.1:1",
                                          "--http-listen=",
                                          "--init",
                                          "--history-age=1h",
                                          "--history-max=7",
                                          "--heartbeat-interval=2s",
                                          "--max-connection-age=4s",
                                          "--drain-timeout=3s",
                                          "--tls-cert-file=c",
                                          "--tls-key-file=k",
                                          "--tls-client-ca-file=a",
                                          "--admin-san=x",
                                          "--allow-plaintext=127.0.0.1:1",
                                          "--log-level=error",
                                          "--log-format=json",
                                          "--max-rings=1",
                                          "--max-nodes=2",
                                          "--max-points=3",
                                          "--max-key-bytes=4",
                                          "--max-batch-keys=5",
                                          "--max-request-bytes=6",
                                          "--max-watches-per-connection=8",
                                          "--max-watches=9"};
  std::vector<std::string> variables = {"RINGD_DATA_DIR=data"};
  std::string content = "data-dir: data\n";
  for (const std::string& word : words) {
    const size_t equals = std::min(word.find('='), word.size());
    const std::string value = equals == word.size() ? "true" : word.substr(equals + 1);
    std::string name = word.substr(2, equals - 2);
    content += name + ": \"" + value + "\"\n";
    for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    variables.push_back("RINGD_" + name + "=" + value);
  }
  const ParsedOptions by_file = Parse(File(content));
  const ParsedOptions by_environment = Parse({}, variables);
  for (const Options& options : {Accepted(words), by_file.options, by_environment.options}) {
    EXPECT_EQ(options.listen, (std::vector<std::string>{"unix:/s", "127.0.0.1:1"}));
    EXPECT_EQ(options.http_listen, "");
    EXPECT_EQ(options.data_dir, "data");
    EXPECT_TRUE(options.init);
    EXPECT_EQ(options.history_age, absl::Hours(1));
    EXPECT_EQ(options.history_max, 7u);
    EXPECT_EQ(options.heartbeat_interval, std::chrono::seconds(2));
    EXPECT_EQ(options.max_connection_age, std::chrono::seconds(4));
    EXPECT_EQ(options.drain_timeout, std::chrono::seconds(3));
    EXPECT_EQ(options.certificates, (CertificateFiles{"c", "k", "a"}));
    EXPECT_EQ(options.admin_sans, std::vector<std::string>{"x"});
    EXPECT_EQ(options.allow_plaintext, std::vector<std::string>{"127.0.0.1:1"});
    EXPECT_EQ(options.log_level, "error");
    EXPECT_EQ(options.log_format, LogFormat::kJson);
    EXPECT_EQ(options.max_rings, 1u);
    EXPECT_EQ(options.ring_limits.max_nodes, 2u);
    EXPECT_EQ(options.ring_limits.max_points, 3u);
    EXPECT_EQ(options.request_limits.max_key_bytes, 4u);
    EXPECT_EQ(options.request_limits.max_batch_keys, 5u);
    EXPECT_EQ(options.max_request_bytes, 6);
    EXPECT_EQ(options.max_watches_per_connection, 8u);
    EXPECT_EQ(options.max_watches, 9u);
  }
  EXPECT_THAT(by_file.errors, IsEmpty());
  EXPECT_THAT(by_environment.errors, IsEmpty());
}

TEST_F(ConfiguredTest, AFlagGoesBeforeTheEnvironmentAndThatBeforeTheFile) {
  const std::vector<std::string> file = File("history-max: 1\nadmin-san: [a, b]\nlisten: 127.0.0.1:1\ninit: true\n");
  std::vector<std::string> words = file;
  EXPECT_EQ(Parse(words).options.history_max, 1u);
  EXPECT_EQ(Parse(words, {"RINGD_HISTORY_MAX=2"}).options.history_max, 2u);
  EXPECT_EQ(Parse(words, {"RINGD_ADMIN_SAN=c"}).options.admin_sans, std::vector<std::string>{"c"});
  EXPECT_FALSE(Parse(words, {"RINGD_INIT=false"}).options.init);
  words.insert(words.end(), {"--history-max", "3", "--listen", "127.0.0.1:3"});
  const Options options = Parse(words, {"RINGD_HISTORY_MAX=2", "RINGD_LISTEN=127.0.0.1:2"}).options;
  EXPECT_EQ(options.history_max, 3u);
  EXPECT_EQ(options.listen, std::vector<std::string>{"127.0.0.1:3"}) << "a list is replaced, not added to";
  EXPECT_TRUE(options.init);
}

TEST_F(ConfiguredTest, TheFileIsNamedByAFlagOrByTheEnvironment) {
  File("data-dir: from-file\n");
  EXPECT_EQ(Parse({}, {"RINGD_CONFIG=" + file_}).options.data_dir, "from-file");
  EXPECT_EQ(Parse({"--config", file_}, {"RINGD_CONFIG=/no/such/file"}).options.data_dir, "from-file");
  EXPECT_THAT(Refused({"--config", "/no/such/file"}),
              HasSubstr("configuration file \"/no/such/file\" cannot be read: No such file or directory"));
}

TEST_F(ConfiguredTest, CheckOnlyIsTold) {
  EXPECT_FALSE(Parse({"--data-dir", "d"}).check_only);
  EXPECT_TRUE(Parse({"--data-dir", "d", "--check-config"}).check_only);
}

TEST_F(ConfiguredTest, AnUnknownKeyIsToldWithItsLineAndTheNearestName) {
  EXPECT_EQ(RefusedFile("# comment\n\nhistroy-age: 1h\n"),
            file_ + ":4: unknown key \"histroy-age\"; did you mean \"history-age\"?");
  EXPECT_EQ(RefusedFile("frobnicate: 1\n"), file_ + ":2: unknown key \"frobnicate\"");
  for (const std::string key : {"config", "check-config", "help", "version", "--listen", "\"\"", "history_age"}) {
    EXPECT_THAT(RefusedFile(key + ": x\n"), HasSubstr(file_ + ":2: unknown key "));
  }
}

TEST_F(ConfiguredTest, AWrongValueIsToldWithItsLine) {
  EXPECT_THAT(RefusedFile("history-max: many\n"), HasSubstr(file_ + ":2: "));
  EXPECT_THAT(RefusedFile("history-max: many\n"), HasSubstr("--history-max"));
  EXPECT_THAT(RefusedFile("\nhistory-max: 0\n"), HasSubstr(file_ + ":3: --history-max"));
  EXPECT_THAT(RefusedFile("history-age: 30\n"), HasSubstr("\"30\" is not a duration such as"));
  EXPECT_THAT(RefusedFile("init: maybe\n"), HasSubstr(file_ + ":2: "));
  EXPECT_THAT(RefusedFile("log-level: loud\n"), HasSubstr("--log-level"));
  EXPECT_EQ(RefusedFile("history-max: [1, 2]\n"), file_ + ":2: \"history-max\" takes one value, not a list");
  EXPECT_EQ(RefusedFile("history-max: {a: b}\n"),
            file_ + ":2: \"history-max\" takes a value or a list of values, not a mapping");
  EXPECT_EQ(RefusedFile("history-max:\n"), file_ + ":2: \"history-max\" has no value");
  EXPECT_EQ(RefusedFile("listen: []\n"), file_ + ":2: \"listen\" is an empty list: leave it out instead");
  EXPECT_EQ(RefusedFile("listen: [[a]]\n"), file_ + ":2: \"listen\" takes a list of values, and of nothing else");
  EXPECT_EQ(RefusedFile("init: true\ninit: true\n"), file_ + ":3: \"init\" comes twice, first in line 2");
}

TEST_F(ConfiguredTest, AnErrorIsOneLineThatMayBeShown) {
  EXPECT_THAT(Refused(File("\"\\\x1b\": b\n")), HasSubstr("unknown escape character: \\x1B"));
  EXPECT_THAT(RefusedFile("log-level: \"x\\n\\x1b[2J\"\n"), HasSubstr("x\\x0A\\x1B[2J not in"));
}

TEST_F(ConfiguredTest, WhatIsNoMappingIsTold) {
  EXPECT_THAT(Refused(File("- a\n")), HasSubstr(file_ + ":1: a mapping is wanted"));
  EXPECT_THAT(Refused(File("data-dir\n")), HasSubstr(file_ + ":1: a mapping is wanted"));
  EXPECT_THAT(Refused(File("data-dir: d\n  history-max: 1\n")), HasSubstr(file_ + ":2: "));
  EXPECT_THAT(Refused(File("data-dir: [d\n")), HasSubstr(file_ + ":"));
  EXPECT_THAT(Refused(File("[a]: b\n")), HasSubstr(file_ + ":1: a key is a word"));
  EXPECT_THAT(Refused(File("data-dir: d\n---\ninit: true\n")), HasSubstr("a second document begins"));
  EXPECT_THAT(Refused(File("*x : y\n")), HasSubstr(file_ + ":1: "));
  EXPECT_THAT(Refused({"--config", temp_.path()}), HasSubstr("is not a regular file"));
  for (const std::string nothing : {"", "# only a comment\n", "---\n"}) {
    EXPECT_THAT(Refused(File(nothing)), HasSubstr("--data-dir is missing")) << nothing;
  }
}

TEST_F(ConfiguredTest, EverythingThatIsWrongIsTold) {
  const ParsedOptions parsed = Parse(File("hostory-max: 1\nmax-nodes: 0\n"), {"RINGD_MAX_RINGS=x"});
  EXPECT_THAT(parsed.errors,
              ElementsAre(HasSubstr(":1: unknown key"), HasSubstr(":2: --max-nodes"), HasSubstr("RINGD_MAX_RINGS: ")));
}

TEST_F(ConfiguredTest, AStrangersVariableIsIgnoredAndASlipIsWarnedOf) {
  const std::vector<std::string> strangers = {"RINGD_SERVICE_HOST=10.0.0.1",
                                              "RINGD_PORT=tcp://10.0.0.1:7440",
                                              "RINGD_PORT_7440_TCP_ADDR=10.0.0.1",
                                              "RINGCTL_ENDPOINTS=x",
                                              "PATH=/bin",
                                              "RINGD_CONFIG="};
  EXPECT_EQ(Accepted({}, strangers).history_max, 100'000u);
  const ParsedOptions parsed = Parse({"--data-dir", "d"}, {"RINGD_HISTROY_MAX=1", "RINGD_DATADIR=x"});
  EXPECT_THAT(parsed.errors, IsEmpty());
  EXPECT_THAT(parsed.warnings, ElementsAre("RINGD_HISTROY_MAX is no setting; did you mean \"RINGD_HISTORY_MAX\"?",
                                           "RINGD_DATADIR is no setting; did you mean \"RINGD_DATA_DIR\"?"));
}

}  // namespace
}  // namespace ringd::server
