#include "server/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <utility>

#include "fmt/format.h"

namespace ringd::server {
namespace {

constexpr int kMost = 1'000'000'000;  // of whatever is counted: far beyond use, and safe to add to

// Durations as Go and systemd users write them: 10s, 100ms, 720h.
struct DurationRange {
  absl::Duration least;
  absl::Duration most;
};

absl::Duration ParseDuration(const std::string& name, const std::string& text, const DurationRange& range) {
  absl::Duration duration;
  if (!absl::ParseDuration(text, &duration)) {
    throw CLI::ValidationError(name, fmt::format("\"{}\" is not a duration such as 10s, 500ms or 720h", text));
  }
  if (duration < range.least || duration > range.most) {
    throw CLI::ValidationError(name, fmt::format("\"{}\" is not within {} and {}", text,
                                                 absl::FormatDuration(range.least), absl::FormatDuration(range.most)));
  }
  return duration;
}

void AddDuration(CLI::App& app, const std::string& name, absl::Duration& value, const DurationRange& range,
                 const std::string& help) {
  const auto parse = [&value, name, range](const std::string& text) { value = ParseDuration(name, text, range); };
  app.add_option_function<std::string>(name, parse, help)
      ->type_name("DURATION")
      ->default_str(absl::FormatDuration(value));
}

CLI::Option* AddList(CLI::App& app, const std::string& name, const std::string& type, std::vector<std::string>& value,
                     const std::string& help) {
  return app.add_option(name, value, help + "; repeat it, or put commas between")
      ->type_name(type)
      ->allow_extra_args(false)
      ->delimiter(',');
}

void AddTls(CLI::App& app, Options& options) {
  const std::string group = "TLS";
  const auto add = [&](const std::string& name, std::string& value, const std::string& help) {
    app.add_option(name, value, help)->type_name("FILE")->group(group);
  };
  add("--tls-cert-file", options.certificates.certificate, "Certificate of the server, its chain behind it (PEM)");
  add("--tls-key-file", options.certificates.key, "Its key (PEM)");
  add("--tls-client-ca-file", options.certificates.client_ca, "CAs that issue the certificates of clients (PEM)");
  AddList(app, "--admin-san", "NAME", options.admin_sans,
          "URI or DNS SAN of a certificate that may change rings; all others read")
      ->group(group);
  AddList(app, "--allow-plaintext", "ADDR", options.allow_plaintext,
          "Address of --listen that shall not speak TLS, although other machines reach it")
      ->group(group);
}

// What is wrong with the settings as a whole; empty = nothing.
std::string WhyWrong(const Options& options) {
  if (options.data_dir.empty())
    return "--data-dir is missing: it names the directory of the store, and --init makes it";
  const CertificateFiles& files = options.certificates;
  const std::pair<const char*, const std::string*> names[] = {{"--tls-cert-file", &files.certificate},
                                                              {"--tls-key-file", &files.key},
                                                              {"--tls-client-ca-file", &files.client_ca}};
  const bool any =
      std::any_of(std::begin(names), std::end(names), [](const auto& name) { return !name.second->empty(); });
  for (const auto& [name, value] : names) {
    if (any && value->empty()) {
      return fmt::format("{} is missing: --tls-cert-file, --tls-key-file and --tls-client-ca-file go together", name);
    }
  }
  if (!any && !options.admin_sans.empty()) return "--admin-san means nothing without --tls-cert-file";
  if (std::count(options.admin_sans.begin(), options.admin_sans.end(), "") > 0) return "--admin-san is empty";
  return "";
}

void AddLimits(CLI::App& app, Options& options) {
  const std::string group = "Limits";
  const auto add = [&](const std::string& name, auto& value, const std::string& help) {
    app.add_option(name, value, help)->group(group)->check(CLI::Range(1, kMost))->capture_default_str();
  };
  add("--max-rings", options.max_rings, "Rings in the directory");
  add("--max-nodes", options.ring_limits.max_nodes, "Nodes in a ring");
  add("--max-points", options.ring_limits.max_points, "Points in a ring");
  add("--max-key-bytes", options.request_limits.max_key_bytes, "Bytes of a key");
  add("--max-batch-keys", options.request_limits.max_batch_keys, "Keys in a BatchLookup");
  add("--max-request-bytes", options.max_request_bytes, "Bytes of a request message");
  add("--max-watches-per-connection", options.max_watches_per_connection, "Watches on one connection");
  add("--metrics-max-nodes", options.metrics_max_nodes, "Nodes of a ring that has metrics for each of its nodes");
  add("--metrics-max-series", options.metrics_max_series, "Series of metrics in all");
}

}  // namespace

ParsedOptions ParseOptions(int argc, char** argv) {
  ParsedOptions parsed;
  Options& options = parsed.options;
  CLI::App app("ringd, the central shard directory: which node owns a key");
  app.name("ringd");
  app.set_version_flag("--version", "ringd " RINGD_VERSION);
  app.footer("Example:\n  ringd --data-dir /var/lib/ringd --init");
  AddList(app, "--listen", "ADDR", options.listen,
          "Addresses for gRPC: HOST:PORT (port 0 takes a free one), unix:///PATH")
      ->default_str(options.listen.front());
  app.add_option("--http-listen", options.http_listen, "Address for probes and metrics over HTTP; empty = none")
      ->capture_default_str();
  app.add_option("--metrics-listen", options.metrics_listen,
                 "Another address for probes and metrics, on any interface; empty = none");
  app.add_option("--data-dir", options.data_dir, "Directory of the durable store; it must exist, or see --init")
      ->type_name("DIR");
  app.add_flag("--init", options.init, "Make the data directory and its store where they are missing");
  AddDuration(app, "--history-age", options.history_age, {absl::Milliseconds(1), absl::Hours(24 * 36'500)},
              "How long the records of changes are kept");
  app.add_option("--history-max", options.history_max, "How many records of changes are kept of a ring")
      ->check(CLI::Range(1, kMost))
      ->capture_default_str();
  absl::Duration heartbeat = absl::FromChrono(options.heartbeat_interval);
  AddDuration(app, "--heartbeat-interval", heartbeat, {absl::Milliseconds(1), absl::Hours(24)},
              "Time between the heartbeats of a Watch");
  absl::Duration drain = absl::FromChrono(options.drain_timeout);
  AddDuration(app, "--drain-timeout", drain, {absl::Milliseconds(1), absl::Hours(24)},
              "How long a stop waits for clients");
  AddTls(app, options);
  AddLimits(app, options);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    app.exit(success);
    return parsed;
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "error: {}\nTry `ringd --help`.\n", error.what());
    parsed.exit_code = 2;
    return parsed;
  }
  if (const std::string why = WhyWrong(options); !why.empty()) {
    fmt::print(stderr, "error: {}\nTry `ringd --help`.\n", why);
    parsed.exit_code = 2;
    return parsed;
  }
  options.heartbeat_interval = absl::ToChronoMilliseconds(heartbeat);
  options.drain_timeout = absl::ToChronoMilliseconds(drain);
  parsed.run = true;
  return parsed;
}

}  // namespace ringd::server
