#include "server/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "fmt/format.h"
#include "ring/closest_word.h"
#include "ring/error.h"
#include "ring/utf8.h"
#include "server/config_file.h"

namespace ringd::server {
namespace {

constexpr int kMost = 1'000'000'000;  // of whatever is counted: far beyond use, and safe to add to

// A whole number in decimal: the library would read 010 as 8. For CLI::Option::check.
std::string WhyNoCount(const std::string& text) {
  const bool digits = !text.empty() && text.size() <= 10 && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
  if (digits && text.front() != '0' && std::stoll(text) <= kMost) return "";
  return fmt::format("\"{}\" is not a whole number within 1 and {}", text, kMost);
}

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

absl::Duration ToAbsl(absl::Duration duration) { return duration; }
absl::Duration ToAbsl(std::chrono::milliseconds duration) { return absl::FromChrono(duration); }
void Assign(absl::Duration from, absl::Duration& to) { to = from; }
void Assign(absl::Duration from, std::chrono::milliseconds& to) { to = absl::ToChronoMilliseconds(from); }

template <class Duration>
void AddDuration(CLI::App& app, const std::string& name, Duration& value, const DurationRange& range,
                 const std::string& help) {
  const auto parse = [&value, name, range](const std::string& text) {
    Assign(ParseDuration(name, text, range), value);
  };
  app.add_option_function<std::string>(name, parse, help)
      ->type_name("DURATION")
      ->default_str(absl::FormatDuration(ToAbsl(value)));
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

std::string DidYouMean(const std::string& closest) {
  return closest.empty() ? "" : fmt::format("; did you mean \"{}\"?", closest);
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
    app.add_option(name, value, help)->group(group)->check(WhyNoCount)->capture_default_str();
  };
  add("--max-rings", options.max_rings, "Rings in the directory");
  add("--max-nodes", options.ring_limits.max_nodes, "Nodes in a ring");
  add("--max-points", options.ring_limits.max_points, "Points in a ring");
  add("--max-key-bytes", options.request_limits.max_key_bytes, "Bytes of a key");
  add("--max-batch-keys", options.request_limits.max_batch_keys, "Keys in a BatchLookup");
  add("--max-request-bytes", options.max_request_bytes, "Bytes of a request message");
  add("--max-watches-per-connection", options.max_watches_per_connection, "Watches on one connection");
  add("--max-watches", options.max_watches, "Watches in all");
  add("--metrics-max-nodes", options.metrics_max_nodes, "Nodes of a ring that has metrics for each of its nodes");
  add("--metrics-max-series", options.metrics_max_series, "Series of metrics in all");
}

void AddLogging(CLI::App& app, Options& options) {
  const std::string group = "Log";
  app.add_option("--log-level", options.log_level, "The least that is logged: debug, info, warning or error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->type_name("LEVEL")
      ->group(group)
      ->capture_default_str();
  const auto set = [&options](const std::string& text) {
    options.log_format = text == "json" ? LogFormat::kJson : LogFormat::kText;
  };
  app.add_option_function<std::string>("--log-format", set, "Lines for people or for programs: text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT")
      ->group(group)
      ->default_str("text");
}

// The tree of options, which is the one list of settings: their names, types and bounds.
class OptionTree {
 public:
  explicit OptionTree(Options& options);

  // Sets what the command line says. An error, or nothing; --help and --version leave a text.
  std::optional<std::string> TakeArguments(std::vector<std::string> arguments);
  // Sets what one variable or one entry of the file says. An error that goes on from where it stands, or nothing.
  std::optional<std::string> Take(const CLI::Option& setting, const std::vector<std::string>& values);

  // Null for what is no setting, or one of the command line alone.
  const CLI::Option* Find(const std::string& name) const;
  std::vector<std::string> Names() const;

  const std::string& config() const { return config_; }
  bool check_config() const { return check_config_; }
  const std::string& text() const { return text_; }

 private:
  std::string WhyUnknown(const std::string& argument) const;

  CLI::App app_{"ringd, the central shard directory: which node owns a key"};
  std::string config_;
  bool check_config_ = false;
  std::string text_;
};

OptionTree::OptionTree(Options& options) {
  app_.name("ringd");
  app_.set_version_flag("--version", "ringd " RINGD_VERSION);
  app_.footer(
      "Each of them but --config, --check-config, --help and --version may stand in the environment, as "
      "RINGD_DATA_DIR,\n"
      "and in the configuration file, as data-dir. A flag goes before the environment, and that before the file.\n\n"
      "Example:\n  ringd --data-dir /var/lib/ringd --init\n");
  app_.add_option("--config", config_, "Configuration file in YAML; RINGD_CONFIG names it too")->type_name("FILE");
  app_.add_flag("--check-config", check_config_, "Say whether the configuration is good, and serve nothing");
  AddList(app_, "--listen", "ADDR", options.listen,
          "Addresses for gRPC: HOST:PORT (port 0 takes a free one), unix:///PATH")
      ->default_str(options.listen.front());
  app_.add_option("--http-listen", options.http_listen, "Address for probes and metrics over HTTP; empty = none")
      ->capture_default_str();
  app_.add_option("--metrics-listen", options.metrics_listen,
                  "Another address for probes and metrics, on any interface; empty = none");
  app_.add_option("--data-dir", options.data_dir, "Directory of the durable store; it must exist, or see --init")
      ->type_name("DIR");
  app_.add_flag("--init", options.init, "Make the data directory and its store where they are missing");
  AddDuration(app_, "--history-age", options.history_age, {absl::Milliseconds(1), absl::Hours(24 * 36'500)},
              "How long the records of changes are kept");
  app_.add_option("--history-max", options.history_max, "How many records of changes are kept of a ring")
      ->check(WhyNoCount)
      ->capture_default_str();
  AddDuration(app_, "--heartbeat-interval", options.heartbeat_interval, {absl::Milliseconds(1), absl::Hours(24)},
              "Time between the heartbeats of a Watch");
  AddDuration(app_, "--max-connection-age", options.max_connection_age,
              {absl::Milliseconds(1), absl::Hours(24 * 36'500)},
              "Age at which a connection is to be left for a new one");
  AddDuration(app_, "--drain-timeout", options.drain_timeout, {absl::Milliseconds(1), absl::Hours(24)},
              "How long a stop waits for clients");
  AddTls(app_, options);
  AddLogging(app_, options);
  AddLimits(app_, options);
}

std::optional<std::string> OptionTree::TakeArguments(std::vector<std::string> arguments) {
  // The library takes an empty value behind "=" for none, and the next argument for the value.
  for (size_t i = 0; i < arguments.size(); i++) {
    if (!arguments[i].starts_with("--") || !arguments[i].ends_with('=')) continue;
    const std::string name = arguments[i].substr(0, arguments[i].size() - 1);
    const CLI::Option* option = app_.get_option_no_throw(name);
    if (option == nullptr || option->get_expected_min() == 0) continue;
    arguments[i] = name;
    arguments.insert(arguments.begin() + static_cast<std::ptrdiff_t>(++i), "");
  }
  std::reverse(arguments.begin(), arguments.end());  // as the library wants them
  try {
    app_.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    text_ = app_.help();
  } catch (const CLI::Success& version) {
    text_ = std::string(version.what()) + "\n";
  } catch (const CLI::ExtrasError&) {
    return WhyUnknown(app_.remaining().front());
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return std::nullopt;
}

std::string OptionTree::WhyUnknown(const std::string& argument) const {
  if (!argument.starts_with('-')) return fmt::format("unexpected argument {}", ring::Quote(argument));
  const std::string flag = argument.substr(0, argument.find('='));
  std::vector<std::string> flags;
  for (const CLI::Option* option : app_.get_options()) flags.push_back("--" + option->get_lnames().front());
  return fmt::format("unknown flag {}{}", ring::Quote(flag), DidYouMean(ring::ClosestWord(flag, flags)));
}

std::optional<std::string> OptionTree::Take(const CLI::Option& setting, const std::vector<std::string>& values) {
  CLI::Option* option = app_.get_option("--" + setting.get_lnames().front());
  try {
    option->clear();
    option->add_result(values);
    option->run_callback();
    option->clear();
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return std::nullopt;
}

const CLI::Option* OptionTree::Find(const std::string& name) const {
  const std::vector<std::string> names = Names();
  const bool is_setting = std::find(names.begin(), names.end(), name) != names.end();
  return is_setting ? app_.get_option("--" + name) : nullptr;
}

std::vector<std::string> OptionTree::Names() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : app_.get_options()) {
    const std::string& name = option->get_lnames().front();
    if (name != "help" && name != "version" && name != "config" && name != "check-config") names.push_back(name);
  }
  return names;
}

std::string VariableOf(std::string name) {
  for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return "RINGD_" + name;
}

// The value of a variable, or nothing.
std::optional<std::string> ValueOf(const std::vector<std::string>& environment, const std::string& variable) {
  for (const std::string& entry : environment) {
    if (entry.starts_with(variable + "=")) return entry.substr(variable.size() + 1);
  }
  return std::nullopt;
}

void TakeFile(OptionTree& tree, const std::string& file, std::vector<std::string>& errors) {
  const auto entries = ReadConfigFile(file);
  if (!entries.ok()) {
    errors.emplace_back(entries.status().message());
    return;
  }
  for (const ConfigEntry& entry : *entries) {
    const auto wrong = [&](const std::string& why) {
      errors.push_back(fmt::format("{}:{}: {}", file, entry.line, why));
    };
    const CLI::Option* setting = tree.Find(entry.key);
    if (setting == nullptr) {
      wrong(fmt::format("unknown key {}{}", ring::Quote(entry.key),
                        DidYouMean(ring::ClosestWord(entry.key, tree.Names()))));
    } else if (entry.is_list && setting->get_expected_max() <= 1) {
      wrong(fmt::format("{} takes one value, not a list", ring::Quote(entry.key)));
    } else if (const auto why = tree.Take(*setting, entry.values); why.has_value()) {
      wrong(*why);
    }
  }
}

void TakeEnvironment(OptionTree& tree, const std::vector<std::string>& environment, ParsedOptions& parsed) {
  std::vector<std::string> variables;
  for (const std::string& name : tree.Names()) {
    variables.push_back(VariableOf(name));
    const auto value = ValueOf(environment, variables.back());
    if (!value.has_value()) continue;
    const auto why = tree.Take(*tree.Find(name), {*value});
    if (why.has_value()) parsed.errors.push_back(fmt::format("{}: {}", variables.back(), *why));
  }
  // Others are no errors: Kubernetes sets some, for a service of this name. But one may be a slip.
  variables.emplace_back("RINGD_CONFIG");
  for (const std::string& entry : environment) {
    const std::string variable = entry.substr(0, entry.find('='));
    if (!variable.starts_with("RINGD_") || std::count(variables.begin(), variables.end(), variable) > 0) continue;
    const std::string closest = ring::ClosestWord(variable, variables);
    if (!closest.empty()) parsed.warnings.push_back(fmt::format("{} is no setting{}", variable, DidYouMean(closest)));
  }
}

ParsedOptions Parse(const SettingSources& sources) {
  ParsedOptions parsed;
  Options unused;
  OptionTree first(unused);  // to learn from the command line alone which file there is, and whether it makes sense
  if (const auto why = first.TakeArguments(sources.arguments); why.has_value()) {
    parsed.errors.push_back(*why);
    return parsed;
  }
  parsed.text = first.text();
  if (!parsed.text.empty()) return parsed;
  parsed.check_only = first.check_config();

  // From the least to the most: each overwrites those before it.
  OptionTree tree(parsed.options);
  const std::string from_environment = ValueOf(sources.environment, "RINGD_CONFIG").value_or("");
  const std::string& file = first.config().empty() ? from_environment : first.config();
  if (!file.empty()) TakeFile(tree, file, parsed.errors);
  TakeEnvironment(tree, sources.environment, parsed);
  tree.TakeArguments(sources.arguments);
  if (!parsed.errors.empty()) return parsed;
  if (const std::string why = WhyWrong(parsed.options); !why.empty()) parsed.errors.push_back(why);
  return parsed;
}

}  // namespace

ParsedOptions ParseOptions(const SettingSources& sources) {
  ParsedOptions parsed = Parse(sources);
  // Values stand in the library's texts as they were given.
  for (std::string& error : parsed.errors) error = ring::Shown(error);
  for (std::string& warning : parsed.warnings) warning = ring::Shown(warning);
  return parsed;
}

}  // namespace ringd::server
