#include "client/ringctl/cli.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "client/ringctl/command_tree.h"
#include "client/ringctl/commands.h"
#include "client/ringctl/completion.h"
#include "client/ringctl/escape.h"
#include "client/ringctl/failure.h"
#include "client/ringctl/flag_values.h"
#include "client/ringctl/help_texts.h"
#include "client/ringctl/options.h"
#include "client/ringctl/question_commands.h"
#include "client/ringctl/ring_group.h"
#include "client/ringctl/standard_output.h"
#include "ring/closest_word.h"

namespace ringd::ctl {
namespace {

using Node = CommandTree::Node;

// Who presses Tab does not wait longer for a server.
constexpr std::chrono::milliseconds kCompletionTimeout{500};

// CommandLine is the commands of ringctl with the values of their flags.
class CommandLine {
 public:
  CommandLine();
  ExitCode Run(Words arguments) { return tree_.Run(std::move(arguments)); }
  // What a shell asks that completes a command line.
  ExitCode Complete(Words arguments);

 private:
  using Action = std::function<ExitCode(const Words&)>;

  Node* AddCommand(Node* above, const std::string& name, const std::string& help, Words words, Action run,
                   LastWord last = LastWord::kOnce);
  void AddGlobalFlags();
  void AddRings();
  void AddNodeCommands();
  void AddApply();
  void AddQuestions();
  void AddHistory();
  void AddLookup();
  void AddVerify();
  void AddWatch();
  void AddCompletion();
  void AddNodeFlags(Node* node);
  NodeOptions NodeOptionsOf(const Words& words) const { return {words[0], words[1], fields_, mutation_}; }

  // Makes of the files for TLS what commands work with.
  ExitCode LoadSecurity();

  CommandTree tree_{"ringctl", kAbout, kFooter};
  GlobalOptions global_;
  TlsFiles tls_;
  MutationFlags mutation_;
  HistoryOptions history_;
  NodeFields fields_;
  bool clear_metadata_ = false;
  ApplyOptions apply_;
  RingGroup rings_{tree_, global_};
  QuestionCommands questions_{tree_, global_};
  LookupOptions lookup_;
  WatchOptions watch_;
};

CommandLine::CommandLine() {
  AddGlobalFlags();
  AddRings();
  AddNodeCommands();
  AddApply();
  AddQuestions();
  AddHistory();
  AddLookup();
  AddVerify();
  AddWatch();
  AddCommand(
      tree_.root(), "watchers", "tell who watches a ring, or any, at which version and how far behind", {"RING"},
      [this](const Words& words) {
        Session session(global_);
        return Watchers(session, words.empty() ? "" : words[0]);
      },
      LastWord::kOptional);
  AddCommand(tree_.root(), "status", "health, build and rings of every endpoint", {},
             [this](const Words&) { return Status(global_); });
  AddCompletion();
  AddCommand(tree_.root(), "version", "version of ringctl and of the server, if it can be reached", {},
             [this](const Words&) { return Version(global_); });
}

Node* CommandLine::AddCommand(Node* above, const std::string& name, const std::string& help, Words words, Action run,
                              LastWord last) {
  const auto run_securely = [this, run = std::move(run)](const Words& given) {
    const ExitCode code = LoadSecurity();
    return code == ExitCode::kOk ? run(given) : code;
  };
  return tree_.AddCommand(above, name, help, {std::move(words), last, run_securely});
}

ExitCode CommandLine::LoadSecurity() {
  if (tls_.cert_file.empty() != tls_.key_file.empty()) return tree_.ReportUsage("--cert and --key go together");
  if (tls_.ca_file.empty() && !tls_.cert_file.empty()) return tree_.ReportUsage("--cert needs --cacert");
  if (tls_.ca_file.empty()) return ExitCode::kOk;
  absl::StatusOr<Security> security = Security::FromFiles(tls_);
  if (!security.ok()) return ReportError(ExitCode::kDenied, std::string(security.status().message()));
  global_.security = *std::move(security);
  return ExitCode::kOk;
}

void CommandLine::AddGlobalFlags() {
  Node* root = tree_.root();
  global_.endpoints = {"127.0.0.1:7440"};
  tree_.AddFlag(root,
                {"--endpoints", "LIST", "HOST:PORT or unix:PATH, with commas between; tried in order [127.0.0.1:7440]",
                 "RINGCTL_ENDPOINTS"},
                [this](const std::string& text) { return Assign(ParseEndpoints(text), &global_.endpoints); });
  AddText(tree_, root,
          {"--cacert", "FILE", "CAs of the servers' certificates (PEM); TLS where it is given", "RINGCTL_CACERT"},
          &tls_.ca_file);
  AddText(tree_, root, {"--cert", "FILE", "certificate to show to servers (PEM)", "RINGCTL_CERT"}, &tls_.cert_file);
  AddText(tree_, root, {"--key", "FILE", "key of that certificate (PEM)", "RINGCTL_KEY"}, &tls_.key_file);
  tree_.AddFlag(root, {"--timeout", "TIME", "for each call, tries included, such as 500ms [5s]"},
                [this](const std::string& text) { return Assign(ParseTimeout(text), &global_.timeout); });
  static const std::map<std::string, Format> formats = {
      {"table", Format::kTable}, {"json", Format::kJson}, {"yaml", Format::kYaml}, {"tsv", Format::kTsv}};
  tree_.AddFlag(
      root,
      {"-o,--output", "FORMAT", "table, json, yaml or tsv [table]", "RINGCTL_OUTPUT", {"table", "json", "yaml", "tsv"}},
      [this](const std::string& text) {
        global_.format = formats.at(text);
        return absl::OkStatus();
      });
  CommandTree::AddSwitch(root, "--no-headers", &global_.no_headers, "leave out the headers of tables");
  CommandTree::AddSwitch(root, "-q,--quiet", &global_.quiet, "print data and errors only");
}

void CommandLine::AddRings() {
  rings_.AddTo([this](Node* above, const std::string& name, const std::string& help, Words words, Action run,
                      LastWord last) { return AddCommand(above, name, help, std::move(words), std::move(run), last); });
}

void CommandLine::AddHistory() {
  Node* history = AddCommand(tree_.root(), "history", "tell who changed what in a ring and why, newest first", {"RING"},
                             [this](const Words& words) {
                               if (history_.limit == 0u) return tree_.ReportUsage("--limit 0 asks for nothing");
                               history_.ring = words[0];
                               Session session(global_);
                               return History(session, history_);
                             });
  AddNumber(tree_, history, "--limit", &history_.limit, "how many changes at most [all that are kept]");
}

void CommandLine::AddNodeCommands() {
  Node* node = tree_.AddGroup("node", "add, update, remove or list the nodes of a ring");
  Node* add = AddCommand(
      node, "add", "add a node to a ring", {"RING", "ID"},
      [this](const Words& words) {
        Session session(global_);
        return NodeAdd(session, NodeOptionsOf(words));
      },
      LastWord::kIsNew);
  AddText(tree_, add, {"--hash-key", "TEXT", "the text that is hashed for the node [its ID]"}, &fields_.hash_key);
  Node* update = AddCommand(node, "update", "change fields of a node", {"RING", "ID"}, [this](const Words& words) {
    if (clear_metadata_ && fields_.metadata) {
      return tree_.ReportUsage("--metadata and --clear-metadata do not go together");
    }
    if (clear_metadata_) fields_.metadata.emplace();
    if (!fields_.address && !fields_.weight && !fields_.zone && !fields_.metadata && !fields_.points_file) {
      return tree_.ReportUsage("nothing to update",
                               "name a field: --address, --weight, --zone, --metadata, --clear-metadata or --points");
    }
    Session session(global_);
    return NodeUpdate(session, NodeOptionsOf(words));
  });
  Node* remove = AddCommand(node, "remove", "remove a node from a ring", {"RING", "ID"}, [this](const Words& words) {
    Session session(global_);
    return NodeRemove(session, NodeOptionsOf(words));
  });
  AddCommand(node, "list", "list the nodes of a ring with their shares", {"RING"}, [this](const Words& words) {
    Session session(global_);
    return NodeList(session, words[0]);
  });
  for (Node* changing : {add, update}) AddNodeFlags(changing);
  CommandTree::AddSwitch(update, "--clear-metadata", &clear_metadata_, "remove all metadata");
  tree_.SetFooter(update, kUpdateFooter);
  tree_.SetFooter(remove, kRemoveFooter);
  for (Node* changing : {add, update, remove}) {
    AddMutationFlags(tree_, changing, &mutation_);
    AddWaitFlags(tree_, changing, &mutation_);
    AddIfVersion(tree_, changing, &mutation_);
  }
  for (Node* taking : {update, remove}) {
    AddForce(taking, &mutation_, kForceOfNodes);
  }
}

void CommandLine::AddApply() {
  Node* apply = AddCommand(tree_.root(), "apply", "make the nodes of a ring those of a file, as one change", {"RING"},
                           [this](const Words& words) {
                             if (apply_.file.empty()) return tree_.ReportUsage("-f FILE is missing");
                             apply_.ring = words[0];
                             apply_.mutation = mutation_;
                             Session session(global_);
                             return Apply(session, apply_);
                           });
  AddText(tree_, apply, {"-f,--file", "FILE", "the nodes as they shall be, in YAML or JSON; `-` is stdin"},
          &apply_.file);
  AddMutationFlags(tree_, apply, &mutation_);
  AddWaitFlags(tree_, apply, &mutation_);
  AddIfVersion(tree_, apply, &mutation_);
  AddForce(apply, &mutation_, fmt::format("{}, or FILE has no nodes", kForceOfNodes));
  tree_.SetFooter(apply, kFileFooter);
}

void CommandLine::AddQuestions() {
  questions_.AddTo([this](const std::string& name, const std::string& help, Words words, Action run) {
    return AddCommand(tree_.root(), name, help, std::move(words), std::move(run));
  });
}

void CommandLine::AddLookup() {
  Node* lookup = AddCommand(
      tree_.root(), "lookup", "tell the owners of keys; `-` reads keys from stdin, one a line", {"RING", "KEY"},
      [this](const Words& words) {
        lookup_.ring = words[0];
        lookup_.keys.assign(words.begin() + 1, words.end());
        if (words.size() > 2 && std::count(words.begin() + 1, words.end(), "-") > 0) {
          return tree_.ReportUsage("`-` stands for all of stdin: no KEY goes with it");
        }
        if (lookup_.positions && words[1] == "-") {
          return tree_.ReportUsage("--positions takes none from stdin: each is a call of its own");
        }
        Session session(global_);
        return Lookup(session, lookup_);
      },
      LastWord::kRepeats);
  AddNumber(tree_, lookup, "--owners", &lookup_.owners, "how many distinct nodes a key [1]");
  AddVersion(tree_, lookup, "--min-version", &lookup_.min_version,
             "the answer must be at this version of the ring or later");
  CommandTree::AddSwitch(lookup, "--positions", &lookup_.positions, "each KEY is a position on the circle, a number");
  CommandTree::AddSwitch(lookup, "--null", &lookup_.null_separated,
                         "a NUL ends each key on stdin, instead of a newline");
  tree_.SetFooter(lookup, kLookupFooter);
}

void CommandLine::AddVerify() {
  Node* verify = AddCommand(tree_.root(), "verify",
                            "prove that keys have the owners that a file tells: exit code 0 all, 1 not all",
                            {"RING", "FILE"}, [this](const Words& words) {
                              if (global_.format != Format::kTable && global_.format != Format::kTsv) {
                                return tree_.ReportUsage("verify prints -o table or -o tsv");
                              }
                              Session session(global_);
                              return Verify(session, {.ring = words[0], .file = words[1]});
                            });
  tree_.SetFooter(verify, kVerifyFooter);
}

void CommandLine::AddWatch() {
  Node* watch = AddCommand(tree_.root(), "watch",
                           "print what happens to a ring, for ever, through lost connections; -o table or json",
                           {"RING"}, [this](const Words& words) {
                             if (global_.format != Format::kTable && global_.format != Format::kJson) {
                               return tree_.ReportUsage("watch prints -o table or -o json");
                             }
                             watch_.ring = words[0];
                             return Watch(global_, watch_);
                           });
  AddVersion(tree_, watch, "--from", &watch_.from, "the version that is held: changes since then come first");
  AddText(tree_, watch, {"--name", "TEXT", "a name for `watchers`; the directory is told what has been printed"},
          &watch_.name);
}

void CommandLine::AddCompletion() {
  const auto run = [this](const Words& words) {
    const Words& shells = CompletedShells();
    if (std::count(shells.begin(), shells.end(), words[0]) == 0) {
      const std::string closest = ring::ClosestWord(words[0], shells);
      return tree_.ReportUsage(fmt::format("shell {} is none of {}", Quoted(words[0]), fmt::join(shells, ", ")),
                               closest.empty() ? "" : fmt::format("did you mean {}?", closest));
    }
    Print(CompletionScript(words[0]));
    return ExitCode::kOk;
  };
  // It asks no server, and so takes no certificates.
  Node* completion =
      tree_.AddCommand(tree_.root(), "completion", "print what a shell reads to complete command lines of ringctl",
                       {{"SHELL"}, LastWord::kOnce, run});
  tree_.SetFooter(completion, kCompletionFooter);
}

void CommandLine::AddNodeFlags(Node* node) {
  AddText(tree_, node, {"--address", "TEXT", "where callers reach the node"}, &fields_.address);
  AddNumber(tree_, node, "--weight", &fields_.weight, "part of the keys, against the other weights; 0 owns nothing");
  AddText(tree_, node, {"--zone", "TEXT", "rack or availability zone"}, &fields_.zone);
  AddPairs(node, "--metadata", &fields_.metadata,
           "free text for callers; may come again; all of it replaces all that was there");
  AddText(tree_, node, {"--points", "FILE", "in a ring of points: those of the node, numbers with space between"},
          &fields_.points_file);
}

ExitCode CommandLine::Complete(Words arguments) {
  const Place place = tree_.Locate(std::move(arguments));
  std::vector<Candidate> names;
  if (place.word == "SHELL") {
    for (const std::string& shell : CompletedShells()) names.push_back({shell, ""});
  } else if (place.word == "RING" || place.word == "ID") {
    global_.timeout = std::min(global_.timeout, kCompletionTimeout);
    if (const ExitCode code = LoadSecurity(); code != ExitCode::kOk) return code;
    Session session(global_);
    names = place.word == "RING" ? RingNames(session, place.begun) : NodeNames(session, place.words[0]);
  }
  Print(CompletionText(place, names));
  return ExitCode::kOk;
}

}  // namespace

ExitCode RunCommandLine(std::vector<std::string> arguments) {
  if (!arguments.empty() && arguments.front() == "__complete") {
    arguments.erase(arguments.begin());
    return CommandLine().Complete(std::move(arguments));
  }
  if (!arguments.empty() && arguments.front() == "--version") arguments.front() = "version";
  return CommandLine().Run(std::move(arguments));
}

}  // namespace ringd::ctl
