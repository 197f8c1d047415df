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
#include "client/ringctl/ring_import.h"
#include "client/ringctl/standard_output.h"
#include "ring/closest_word.h"

namespace ringd::ctl {
namespace {

using Node = CommandTree::Node;

// Who presses Tab does not wait longer for a server.
constexpr std::chrono::milliseconds kCompletionTimeout{500};

// A flag KEY=VALUE that may come again.
template <typename Pairs>
void AddPairs(Node* node, const std::string& name, Pairs* pairs, const std::string& help) {
  CommandTree::AddListFlag(node, {name, "KEY=VALUE", help}, [what = name.substr(2), pairs](const Words& texts) {
    return Assign(ParsePairs(what, texts), pairs);
  });
}

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
  void AddRingCommands();
  void AddSettings(Node* node);
  void AddPlacement(Node* node);
  void AddImport(Node* ring);
  void AddNodeCommands();
  void AddApply();
  void AddQuestions();
  void AddRingUpdate(Node* ring);
  void AddHistory();
  void AddRestore(Node* ring);
  void AddLookup();
  void AddVerify();
  void AddWatch();
  void AddCompletion();
  void AddMutationFlags(Node* node);
  void AddIfVersion(Node* node);
  void AddForce(Node* node, const std::string& help);
  void AddNodeFlags(Node* node);
  NodeOptions NodeOptionsOf(const Words& words) const { return {words[0], words[1], fields_, mutation_}; }

  // Makes of the files for TLS what commands work with.
  ExitCode LoadSecurity();

  CommandTree tree_{"ringctl", kAbout, kFooter};
  GlobalOptions global_;
  TlsFiles tls_;
  MutationFlags mutation_;
  RingCreateOptions create_;
  RingImportOptions import_;
  RingUpdateOptions update_;
  bool clear_labels_ = false;
  RingRestoreOptions restore_;
  HistoryOptions history_;
  NodeFields fields_;
  bool clear_metadata_ = false;
  ApplyOptions apply_;
  QuestionCommands questions_{tree_, global_};
  LookupOptions lookup_;
  WatchOptions watch_;
};

CommandLine::CommandLine() {
  AddGlobalFlags();
  AddRingCommands();
  AddNodeCommands();
  AddApply();
  AddQuestions();
  AddHistory();
  AddLookup();
  AddVerify();
  AddWatch();
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

void CommandLine::AddRingCommands() {
  Node* ring = tree_.AddGroup("ring", "create, import, get, list, update, restore or delete rings");
  Node* create = AddCommand(
      ring, "create", "make an empty ring", {"RING"},
      [this](const Words& words) {
        create_.ring = words[0];
        create_.mutation = mutation_;
        Session session(global_);
        return RingCreate(session, create_);
      },
      LastWord::kIsNew);
  AddSettings(create);
  AddImport(ring);
  AddCommand(ring, "get", "show a ring and its nodes with their shares", {"RING"}, [this](const Words& words) {
    Session session(global_);
    return RingGet(session, words[0]);
  });
  AddCommand(ring, "list", "list the rings", {}, [this](const Words&) {
    Session session(global_);
    return RingList(session);
  });
  AddRingUpdate(ring);
  AddRestore(ring);
  Node* remove =
      AddCommand(ring, "delete", "delete a ring with its nodes and its history", {"RING"}, [this](const Words& words) {
        Session session(global_);
        return RingDelete(session, words[0], mutation_);
      });
  AddMutationFlags(remove);
  AddIfVersion(remove);
  AddForce(remove, "even if the ring has nodes");
}

// What makes a ring takes these.
void CommandLine::AddSettings(Node* node) {
  AddPlacement(node);
  AddNumber(tree_, node, "--default-weight", &create_.default_weight,
            "weight of nodes that are added without one [100; 1 in a preset]");
  AddPairs(node, "--label", &create_.labels, "a label of the ring; may come again");
  AddMutationFlags(node);
}

void CommandLine::AddPlacement(Node* node) {
  PlacementOptions& placement = create_.placement;
  AddText(tree_, node, {"--placement", "KIND", "how nodes get keys: slots or hashed [slots]", "", KindNames()},
          &placement.kind);
  AddNumber(tree_, node, "--slot-bits", &placement.slot_bits, "of slots: there are 2^N of them [16]");
  AddNumber(tree_, node, "--slot-owners", &placement.slot_owners, "of slots: owners that each keeps [1]");
  AddNumber(tree_, node, "--points-per-weight", &placement.points_per_weight,
            "of hashed: points on the circle for each unit of weight [2]");
  AddText(tree_, node,
          {"--hash", "HASH", "hash function of keys and labels [xxh3-64, or the preset's]", "", HashNames()},
          &placement.hash);
  AddText(tree_, node, {"--point-label", "TEXT", "of hashed: what is hashed for a point [{key}#{index}]", "", {}},
          &placement.point_label);
  AddText(tree_, node, {"--match", "RULE", "of hashed: which point a key belongs to [at-or-after]", "", MatchNames()},
          &placement.match);
  AddText(
      tree_, node,
      {"--tie-rule", "RULE", "of hashed: which of two points on one position is first [node-id]", "", TieRuleNames()},
      &placement.tie_rule);
  AddText(tree_, node, {"--hash-tag", "XY", "hash only what stands between an X and the next Y of a key", "", {}},
          &placement.hash_tag);
  AddText(tree_, node,
          {"--preset", "NAME", "a ring that other programs run, instead of a placement", "", PresetNames()},
          &placement.preset);
  AddNumber(tree_, node, "--min-ring-size", &placement.minimum_ring_size, "of envoy-ring-hash [1024]");
  AddNumber(tree_, node, "--max-ring-size", &placement.maximum_ring_size, "of envoy-ring-hash [8388608]");
}

void CommandLine::AddImport(Node* ring) {
  Node* import = AddCommand(ring, "import", "make a ring, with its nodes, of a file that another program reads",
                            {"NAME", "FILE"}, [this](const Words& words) {
                              import_.ring = create_;
                              import_.ring.ring = words[0];
                              import_.ring.mutation = mutation_;
                              import_.file = words[1];
                              Session session(global_);
                              return RingImport(session, import_);
                            });
  AddText(tree_, import, {"--format", "FORMAT", "what FILE is [told by the file]", "", ImportFormatNames()},
          &import_.format);
  AddText(tree_, import, {"--pool", "NAME", "of a nutcracker.yml, where it has several"}, &import_.pool);
  AddText(tree_, import, {"--upstream", "NAME", "of a configuration of nginx, where it has several"},
          &import_.upstream);
  AddSettings(import);
  tree_.SetFooter(import, kImportFooter);
}

void CommandLine::AddRingUpdate(Node* ring) {
  Node* update =
      AddCommand(ring, "update", "change settings of a ring, which moves no key", {"RING"}, [this](const Words& words) {
        if (clear_labels_ && update_.labels) return tree_.ReportUsage("--label and --clear-labels do not go together");
        if (clear_labels_) update_.labels.emplace();
        if (!update_.default_weight && !update_.labels && !update_.history_max && !update_.history_age) {
          return tree_.ReportUsage(
              "nothing to update",
              "name a setting: --default-weight, --label, --clear-labels, --history-max or --history-age");
        }
        update_.ring = words[0];
        update_.mutation = mutation_;
        Session session(global_);
        return RingUpdate(session, update_);
      });
  AddNumber(tree_, update, "--default-weight", &update_.default_weight,
            "weight of nodes that are added without one from now on");
  AddPairs(update, "--label", &update_.labels,
           "a label of the ring; may come again; all of it replaces all that was there");
  CommandTree::AddSwitch(update, "--clear-labels", &clear_labels_, "remove all labels");
  AddNumber(tree_, update, "--history-max", &update_.history_max, "how many records of changes are kept");
  tree_.AddFlag(
      update, {"--history-age", "TIME", "how long records of changes are kept, such as 720h"},
      [this](const std::string& text) { return Assign(ParseAge("history-age", text), &update_.history_age); });
  AddMutationFlags(update);
  AddIfVersion(update);
}

void CommandLine::AddRestore(Node* ring) {
  Node* restore = AddCommand(ring, "restore", "go back to the nodes of an earlier version, as a new change", {"RING"},
                             [this](const Words& words) {
                               if (!restore_.to) return tree_.ReportUsage("--to E/R is missing");
                               restore_.ring = words[0];
                               restore_.mutation = mutation_;
                               Session session(global_);
                               return RingRestore(session, restore_);
                             });
  AddVersion(tree_, restore, "--to", &restore_.to, "the version; `ringctl history RING` shows those that are kept");
  AddMutationFlags(restore);
  AddIfVersion(restore);
  AddForce(restore, kForceOfNodes);
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
    if (!fields_.address && !fields_.weight && !fields_.zone && !fields_.metadata) {
      return tree_.ReportUsage("nothing to update",
                               "name a field: --address, --weight, --zone, --metadata or --clear-metadata");
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
    AddMutationFlags(changing);
    AddIfVersion(changing);
  }
  for (Node* taking : {update, remove}) {
    AddForce(taking, kForceOfNodes);
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
  AddMutationFlags(apply);
  AddIfVersion(apply);
  AddForce(apply, fmt::format("{}, or FILE has no nodes", kForceOfNodes));
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
        Session session(global_);
        return Lookup(session, lookup_);
      },
      LastWord::kRepeats);
  AddNumber(tree_, lookup, "--owners", &lookup_.owners, "how many distinct nodes a key [1]");
  AddVersion(tree_, lookup, "--min-version", &lookup_.min_version,
             "the answer must be at this version of the ring or later");
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

void CommandLine::AddMutationFlags(Node* node) {
  CommandTree::AddSwitch(node, "--dry-run", &mutation_.dry_run, "show what would result and change nothing");
  AddText(tree_, node, {"--reason", "TEXT", "why, for those who read the history"}, &mutation_.reason);
  CommandTree::AddSwitch(node, "-y,--yes", &mutation_.yes, "do not ask; what asks nothing takes it too");
}

void CommandLine::AddIfVersion(Node* node) {
  AddVersion(tree_, node, "--if-version", &mutation_.if_version, "only if the ring is at this version");
}

void CommandLine::AddForce(Node* node, const std::string& help) {
  CommandTree::AddSwitch(node, "--force", &mutation_.force, help);
}

void CommandLine::AddNodeFlags(Node* node) {
  AddText(tree_, node, {"--address", "TEXT", "where callers reach the node"}, &fields_.address);
  AddNumber(tree_, node, "--weight", &fields_.weight, "part of the keys, against the other weights; 0 owns nothing");
  AddText(tree_, node, {"--zone", "TEXT", "rack or availability zone"}, &fields_.zone);
  AddPairs(node, "--metadata", &fields_.metadata,
           "free text for callers; may come again; all of it replaces all that was there");
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
