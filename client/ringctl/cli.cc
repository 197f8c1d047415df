#include "client/ringctl/cli.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "client/ringctl/argument_values.h"
#include "client/ringctl/commands.h"
#include "client/ringctl/escape.h"
#include "client/ringctl/failure.h"
#include "client/ringctl/options.h"
#include "client/ringctl/standard_output.h"
#include "client/ringctl/version_text.h"
#include "ring/closest_word.h"

namespace ringd::ctl {
namespace {

using Words = std::vector<std::string>;

// Command is a verb with what stands behind it. CLI11 gets the flags alone: the words (names, keys) are the users' own
// and may be anything, also the name of a verb, "[a,b]" or "++", which CLI11 would read as something else.
struct Command {
  Words words;      // names of the words, such as {"RING", "ID"}
  bool more_words;  // the last of them may come again
  std::function<ExitCode(const Words&)> run;
};

// UsageFormatter writes the words of a command into its usage line.
class UsageFormatter : public CLI::Formatter {
 public:
  explicit UsageFormatter(const std::map<const CLI::App*, Command>* commands) : commands_(commands) {}

  std::string make_usage(const CLI::App* app, std::string name) const override {
    const auto command = commands_->find(app);
    if (command == commands_->end()) return fmt::format("Usage: {} COMMAND ... [FLAGS]\n", name);
    const char* more = command->second.more_words ? "..." : "";
    const char* space = command->second.words.empty() ? "" : " ";
    return fmt::format("Usage: {}{}{}{} [FLAGS]\n", name, space, fmt::join(command->second.words, " "), more);
  }

 private:
  const std::map<const CLI::App*, Command>* commands_;
};

// UsageError is a command line that makes no sense; it does not leave this file.
struct UsageError {
  std::string text;
  std::string hint;
};

template <typename T>
T ValueOrThrow(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  throw UsageError{std::string(value.status().message().data(), value.status().message().size()), ""};
}

v1::Version VersionOrThrow(const std::string& flag, const std::string& text) {
  const std::optional<v1::Version> version = ParseVersion(text);
  if (version) return *version;
  throw UsageError{fmt::format("{} {} is not EPOCH/REVISION, two numbers below 2^64", flag, Quoted(text)), ""};
}

CLI::Option* AddFlag(CLI::App* app, const std::string& name, bool* value, const std::string& help) {
  return app->add_flag(name, *value, help);
}

// Adds a flag with one value, which `set` takes; it is not called without the flag.
CLI::Option* AddText(CLI::App* app, const std::string& name, const std::string& type, const std::string& help,
                     const std::function<void(const std::string&)>& set) {
  return app->add_option_function<std::string>(name, set, help)->type_name(type);
}

void AddNumber(CLI::App* app, const std::string& name, std::optional<uint32_t>* value, const std::string& help) {
  const std::string what = name.substr(2);
  AddText(app, name, "N", help,
          [what, value](const std::string& text) { *value = ValueOrThrow(ParseWireNumber(what, text)); });
}

void AddVersion(CLI::App* app, const std::string& name, std::optional<v1::Version>* value, const std::string& help) {
  AddText(app, name, "E/R", help, [name, value](const std::string& text) { *value = VersionOrThrow(name, text); });
}

// Adds a flag KEY=VALUE that may come again.
template <typename Pairs>
void AddPairs(CLI::App* app, const std::string& name, Pairs* pairs, const std::string& help) {
  const std::string what = name.substr(2);
  app->add_option_function<Words>(
         name, [what, pairs](const Words& texts) { *pairs = ValueOrThrow(ParsePairs(what, texts)); }, help)
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

// CommandLine is the tree of commands with the values of their flags.
class CommandLine {
 public:
  CommandLine();
  ExitCode Run(Words arguments);

 private:
  CLI::App* AddGroup(const std::string& name, const std::string& help);
  CLI::App* AddCommand(CLI::App* group, const std::string& name, const std::string& help, Command command);
  void AddGlobalFlags();
  void AddRingCommands();
  void AddNodeCommands();
  void AddReadCommands();
  void AddMutationFlags(CLI::App* app);
  void AddIfVersion(CLI::App* app);
  void AddForce(CLI::App* app, const std::string& help);
  void AddNodeFlags(CLI::App* app);

  // How the command that was named as far as it was is typed.
  std::string Path() const;
  ExitCode Parse(Words arguments);
  ExitCode RunCommand(const Command& command, const Words& words);
  Words TakeWords(Words* arguments);
  const CLI::Option* FindFlag(const CLI::App* app, const std::string& argument) const;
  const CLI::App* Descend(const CLI::App* app, const std::string& word) const;

  CLI::App app_{"ringctl asks and changes ringd, the directory that knows which node owns a key.", "ringctl"};
  std::map<const CLI::App*, Command> commands_;
  const CLI::App* app_of_words_ = &app_;  // of the verb, as far as it was named

  GlobalOptions global_;
  TlsFiles tls_;
  MutationFlags mutation_;
  RingCreateOptions create_;
  NodeFields fields_;
  LookupOptions lookup_;
  WatchOptions watch_;
};

CommandLine::CommandLine() {
  app_.formatter(std::make_shared<UsageFormatter>(&commands_));
  app_.require_subcommand(1);
  app_.footer(
      "Examples:\n"
      "  ringctl ring create cache\n"
      "  ringctl node add cache n1 --address 10.0.0.1:6379 --weight 100\n"
      "  ringctl lookup cache user:42\n"
      "  ringctl lookup cache - -o tsv < keys.txt\n"
      "  ringctl watch cache -o json\n"
      "\n"
      "Exit codes: 0 ok, 1 the server said no, 2 wrong usage, 3 no server reached in time, 4 permission or TLS.\n"
      "The flags above work after the command too. `ringctl COMMAND --help` tells more.");
  AddGlobalFlags();
  AddRingCommands();
  AddNodeCommands();
  AddReadCommands();
}

CLI::App* CommandLine::AddGroup(const std::string& name, const std::string& help) {
  CLI::App* group = app_.add_subcommand(name, help)->fallthrough();
  group->require_subcommand(1);
  return group;
}

CLI::App* CommandLine::AddCommand(CLI::App* group, const std::string& name, const std::string& help, Command command) {
  CLI::App* app = group->add_subcommand(name, help)->fallthrough();
  app->footer("`ringctl --help` shows the flags that all commands take.");
  commands_[app] = std::move(command);
  return app;
}

void CommandLine::AddGlobalFlags() {
  global_.endpoints = {"127.0.0.1:7440"};
  AddText(&app_, "--endpoints", "LIST", "HOST:PORT or unix:PATH, with commas between; tried in order [127.0.0.1:7440]",
          [this](const std::string& text) { global_.endpoints = ValueOrThrow(ParseEndpoints(text)); })
      ->envname("RINGCTL_ENDPOINTS");
  const auto add_file = [this](const std::string& name, const std::string& variable, std::string* value,
                               const std::string& help) {
    AddText(&app_, name, "FILE", help, [value](const std::string& text) { *value = text; })->envname(variable);
  };
  add_file("--cacert", "RINGCTL_CACERT", &tls_.cacert, "CAs of the servers' certificates (PEM); TLS where it is given");
  add_file("--cert", "RINGCTL_CERT", &tls_.cert, "certificate to show to servers (PEM)");
  add_file("--key", "RINGCTL_KEY", &tls_.key, "key of that certificate (PEM)");
  AddText(&app_, "--timeout", "TIME", "for each call, tries included, such as 500ms [5s]",
          [this](const std::string& text) { global_.timeout = ValueOrThrow(ParseTimeout(text)); });
  AddText(&app_, "-o,--output", "FORMAT", "table, json, yaml or tsv [table]", [this](const std::string& text) {
    static const std::map<std::string, Format> formats = {
        {"table", Format::kTable}, {"json", Format::kJson}, {"yaml", Format::kYaml}, {"tsv", Format::kTsv}};
    const auto format = formats.find(text);
    if (format == formats.end()) {
      throw UsageError{fmt::format("output format {} is none of table, json, yaml, tsv", Quoted(text)), ""};
    }
    global_.format = format->second;
  })->envname("RINGCTL_OUTPUT");
  AddFlag(&app_, "--no-headers", &global_.no_headers, "leave out the headers of tables");
  AddFlag(&app_, "-q,--quiet", &global_.quiet, "print data and errors only");
}

void CommandLine::AddRingCommands() {
  CLI::App* ring = AddGroup("ring", "create, get, list or delete rings");
  CLI::App* create = AddCommand(ring, "create", "make an empty ring", {{"RING"}, false, [this](const Words& words) {
                                                                         create_.ring = words[0];
                                                                         create_.mutation = mutation_;
                                                                         Session session(global_);
                                                                         return RingCreate(session, create_);
                                                                       }});
  AddText(create, "--placement", "KIND", "hashed [hashed]; slots is not served yet", [this](const std::string& text) {
    if (text != "hashed" && text != "slots") {
      throw UsageError{fmt::format("placement {} is neither hashed nor slots", Quoted(text)), ""};
    }
    create_.placement = text;
  });
  AddNumber(create, "--points-per-weight", &create_.points_per_weight,
            "points on the circle for each unit of weight [2]");
  AddNumber(create, "--default-weight", &create_.default_weight, "weight of nodes that are added without one [100]");
  AddPairs(create, "--label", &create_.labels, "a label of the ring; may come again");
  AddMutationFlags(create);

  AddCommand(ring, "get", "show a ring and its nodes with their shares", {{"RING"}, false, [this](const Words& words) {
                                                                            Session session(global_);
                                                                            return RingGet(session, words[0]);
                                                                          }});
  AddCommand(ring, "list", "list the rings", {{}, false, [this](const Words&) {
                                                Session session(global_);
                                                return RingList(session);
                                              }});
  CLI::App* remove = AddCommand(ring, "delete", "delete a ring with its nodes and its history",
                                {{"RING"}, false, [this](const Words& words) {
                                   Session session(global_);
                                   return RingDelete(session, words[0], mutation_);
                                 }});
  AddMutationFlags(remove);
  AddIfVersion(remove);
  AddForce(remove, "even if the ring has nodes");
}

void CommandLine::AddNodeCommands() {
  CLI::App* node = AddGroup("node", "add, update, remove or list the nodes of a ring");
  const auto options = [this](const Words& words) { return NodeOptions{words[0], words[1], fields_, mutation_}; };
  CLI::App* add =
      AddCommand(node, "add", "add a node to a ring", {{"RING", "ID"}, false, [this, options](const Words& words) {
                                                         Session session(global_);
                                                         return NodeAdd(session, options(words));
                                                       }});
  AddText(add, "--hash-key", "TEXT", "the text that is hashed for the node [its ID]",
          [this](const std::string& text) { fields_.hash_key = text; });
  CLI::App* update =
      AddCommand(node, "update", "change fields of a node",
                 {{"RING", "ID"}, false, [this, options](const Words& words) {
                    if (!fields_.address && !fields_.weight && !fields_.zone && !fields_.metadata) {
                      throw UsageError{"nothing to update", "name a field: --address, --weight, --zone or --metadata"};
                    }
                    Session session(global_);
                    return NodeUpdate(session, options(words));
                  }});
  CLI::App* remove = AddCommand(node, "remove", "remove a node from a ring",
                                {{"RING", "ID"}, false, [this, options](const Words& words) {
                                   Session session(global_);
                                   return NodeRemove(session, options(words));
                                 }});
  AddCommand(node, "list", "list the nodes of a ring with their shares", {{"RING"}, false, [this](const Words& words) {
                                                                            Session session(global_);
                                                                            return NodeList(session, words[0]);
                                                                          }});
  for (CLI::App* app : {add, update}) AddNodeFlags(app);
  for (CLI::App* app : {add, update, remove}) {
    AddMutationFlags(app);
    AddIfVersion(app);
  }
  for (CLI::App* app : {update, remove}) {
    AddForce(app, "even if it takes more than half of the ring's weight, or its last weighted node");
  }
}

void CommandLine::AddReadCommands() {
  CLI::App* lookup = AddCommand(&app_, "lookup", "tell the owners of keys; `-` reads keys from stdin, one a line",
                                {{"RING", "KEY"}, true, [this](const Words& words) {
                                   lookup_.ring = words[0];
                                   lookup_.keys.assign(words.begin() + 1, words.end());
                                   if (words.size() > 2 && std::count(words.begin() + 1, words.end(), "-") > 0) {
                                     throw UsageError{"`-` stands for all of stdin: no KEY goes with it", ""};
                                   }
                                   Session session(global_);
                                   return Lookup(session, lookup_);
                                 }});
  AddNumber(lookup, "--owners", &lookup_.owners, "how many distinct nodes a key [1]");
  AddVersion(lookup, "--min-version", &lookup_.min_version, "the answer must be at this version of the ring or later");
  AddFlag(lookup, "--null", &lookup_.null_separated, "a NUL ends each key on stdin, instead of a newline");
  lookup->footer(
      "-o tsv prints KEY<TAB>OWNER[,OWNER...]; control bytes, backslash and bytes that are not UTF-8 are \\xHH, and "
      "so\n"
      "is a comma inside an id. -o json prints the answer of one key, or of many\n"
      "{\"results\":[{\"key\",\"owners\",\"version\"},...]}, a result a line; a key that is not UTF-8 is "
      "\"key_base64\".\n"
      "--timeout holds for each batch. After `--` a KEY may begin with `-`.");

  CLI::App* watch =
      AddCommand(&app_, "watch", "print what happens to a ring, for ever, through lost connections; -o table or json",
                 {{"RING"}, false, [this](const Words& words) {
                    if (global_.format != Format::kTable && global_.format != Format::kJson) {
                      throw UsageError{"watch prints -o table or -o json", ""};
                    }
                    watch_.ring = words[0];
                    return Watch(global_, watch_);
                  }});
  AddVersion(watch, "--from", &watch_.from, "the version that is held: changes since then come first");

  AddCommand(&app_, "status", "health, build and rings of every endpoint",
             {{}, false, [this](const Words&) { return Status(global_); }});
  AddCommand(&app_, "version", "version of ringctl and of the server, if it can be reached",
             {{}, false, [this](const Words&) { return Version(global_); }});
}

void CommandLine::AddMutationFlags(CLI::App* app) {
  AddFlag(app, "--dry-run", &mutation_.dry_run, "show what would result and change nothing");
  AddText(app, "--reason", "TEXT", "why, for those who read the history",
          [this](const std::string& text) { mutation_.reason = text; });
  AddFlag(app, "-y,--yes", &mutation_.yes, "do not ask; what asks nothing takes it too");
}

void CommandLine::AddIfVersion(CLI::App* app) {
  AddVersion(app, "--if-version", &mutation_.if_version, "only if the ring is at this version");
}

void CommandLine::AddForce(CLI::App* app, const std::string& help) { AddFlag(app, "--force", &mutation_.force, help); }

void CommandLine::AddNodeFlags(CLI::App* app) {
  AddText(app, "--address", "TEXT", "where callers reach the node",
          [this](const std::string& text) { fields_.address = text; });
  AddNumber(app, "--weight", &fields_.weight, "part of the keys, against the other weights; 0 owns nothing");
  AddText(app, "--zone", "TEXT", "rack or availability zone", [this](const std::string& text) { fields_.zone = text; });
  AddPairs(app, "--metadata", &fields_.metadata,
           "free text for callers; may come again; replaces all that was there, '' by nothing");
}

const CLI::Option* CommandLine::FindFlag(const CLI::App* app, const std::string& argument) const {
  const bool is_long = argument.compare(0, 2, "--") == 0;
  const std::string name = is_long ? argument.substr(0, argument.find('=')) : argument.substr(0, 2);
  Words names;
  for (; app != nullptr; app = app->get_parent()) {
    if (const CLI::Option* option = app->get_option_no_throw(name); option != nullptr) return option;
    for (const CLI::Option* option : app->get_options()) names.push_back("--" + option->get_lnames().front());
  }
  const std::string closest = ring::ClosestWord(name, names);
  throw UsageError{fmt::format("unknown flag {}", EscapeForText(name)),
                   closest.empty() ? "" : fmt::format("did you mean {}?", closest)};
}

const CLI::App* CommandLine::Descend(const CLI::App* app, const std::string& word) const {
  Words names;
  for (const CLI::App* child : app->get_subcommands([](const CLI::App*) { return true; })) {
    if (child->get_name() == word) return child;
    names.push_back(child->get_name());
  }
  const std::string closest = ring::ClosestWord(word, names);
  throw UsageError{fmt::format("unknown command {}", Quoted(word)),
                   closest.empty() ? fmt::format("`{} --help` lists the commands", Path())
                                   : fmt::format("did you mean `{} {}`?", Path(), closest)};
}

std::string CommandLine::Path() const {
  std::string path;
  for (const CLI::App* app = app_of_words_; app != &app_; app = app->get_parent())
    path.insert(0, " " + app->get_name());
  return "ringctl" + path;
}

// Takes the words of the command out of the arguments; what stays is flags and the verb, for CLI11.
Words CommandLine::TakeWords(Words* arguments) {
  const CLI::App*& app = app_of_words_;
  Words words;
  Words rest;
  bool flags_over = false;
  for (auto argument = arguments->begin(); argument != arguments->end(); ++argument) {
    const bool flag = !flags_over && argument->size() > 1 && argument->front() == '-' &&
                      std::isdigit(static_cast<unsigned char>((*argument)[1])) == 0;
    if (flag && *argument == "--") {
      flags_over = true;
    } else if (flag) {
      const CLI::Option* option = FindFlag(app, *argument);
      const bool may_assign = argument->compare(0, 2, "--") == 0 || argument->find('=') == 2;
      const std::size_t equals = may_assign ? argument->find('=') : std::string::npos;
      // The value as an argument of its own, since CLI11 takes an empty one behind "=" for none.
      rest.push_back(argument->substr(0, equals));
      const bool takes_value = option->get_expected_min() > 0;
      if (equals != std::string::npos) {
        if (!takes_value) throw UsageError{fmt::format("{} takes no value", rest.back()), ""};
        rest.push_back(argument->substr(equals + 1));
      } else if (takes_value && (argument->size() == 2 || (*argument)[1] == '-')) {
        if (std::next(argument) == arguments->end()) throw UsageError{fmt::format("{} needs a value", *argument), ""};
        rest.push_back(*++argument);
      }
    } else if (!commands_.contains(app)) {
      app = Descend(app, *argument);
      rest.push_back(*argument);
    } else {
      words.push_back(*argument);
    }
  }
  *arguments = std::move(rest);
  return words;
}

ExitCode CommandLine::Run(Words arguments) {
  if (arguments.empty()) {
    fmt::print(stderr, "{}", app_.help());
    return ExitCode::kUsage;
  }
  if (arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.push_back("--help");
  }
  if (arguments.front() == "--version") arguments.front() = "version";
  try {
    return Parse(std::move(arguments));
  } catch (const UsageError& error) {
    const std::string hint = error.hint.empty() ? fmt::format("`{} --help` tells more", Path()) : error.hint;
    return ReportError(ExitCode::kUsage, error.text, hint);
  }
}

ExitCode CommandLine::Parse(Words arguments) {
  const Words words = TakeWords(&arguments);
  const CLI::App* app = app_of_words_;
  try {
    std::reverse(arguments.begin(), arguments.end());
    app_.parse(arguments);
  } catch (const CLI::Success&) {
    Print(app_.help());
    return ExitCode::kOk;
  } catch (const CLI::RequiredError&) {
    throw UsageError{"no command is given", fmt::format("`{} --help` lists the commands", Path())};
  } catch (const CLI::ParseError& error) {
    throw UsageError{error.what(), ""};
  }
  const Command& command = commands_.at(app);
  const bool fits = command.more_words ? words.size() >= command.words.size() : words.size() == command.words.size();
  if (fits) return RunCommand(command, words);
  const std::string wanted = command.words.empty() ? "no argument" : fmt::format("{}", fmt::join(command.words, " "));
  if (words.size() > command.words.size()) {
    throw UsageError{fmt::format("too many arguments: {} takes {}, and {} is left over", app->get_name(), wanted,
                                 Quoted(words[command.words.size()])),
                     ""};
  }
  throw UsageError{fmt::format("too few arguments: {} takes {}, {} is missing", app->get_name(), wanted,
                               command.words[words.size()]),
                   ""};
}

ExitCode CommandLine::RunCommand(const Command& command, const Words& words) {
  if (tls_.cert.empty() != tls_.key.empty()) throw UsageError{"--cert and --key go together", ""};
  if (tls_.cacert.empty() && !tls_.cert.empty()) throw UsageError{"--cert needs --cacert", ""};
  if (!tls_.cacert.empty()) {
    absl::StatusOr<Security> security = Security::FromFiles(tls_);
    if (!security.ok()) return ReportError(ExitCode::kDenied, std::string(security.status().message()));
    global_.security = *std::move(security);
  }
  return command.run(words);
}

}  // namespace

ExitCode RunCommandLine(std::vector<std::string> arguments) { return CommandLine().Run(std::move(arguments)); }

}  // namespace ringd::ctl
