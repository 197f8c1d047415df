#include "client/ringctl/cli.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "client/ringctl/argument_values.h"
#include "client/ringctl/command_tree.h"
#include "client/ringctl/commands.h"
#include "client/ringctl/escape.h"
#include "client/ringctl/failure.h"
#include "client/ringctl/options.h"
#include "client/ringctl/version_text.h"

namespace ringd::ctl {
namespace {

using Node = CommandTree::Node;

constexpr char kAbout[] = "ringctl asks and changes ringd, the directory that knows which node owns a key.";

constexpr char kFooter[] =
    "Examples:\n"
    "  ringctl ring create cache\n"
    "  ringctl node add cache n1 --address 10.0.0.1:6379 --weight 100\n"
    "  ringctl lookup cache user:42\n"
    "  ringctl lookup cache - -o tsv < keys.txt\n"
    "  ringctl watch cache -o json\n"
    "\n"
    "Exit codes: 0 ok, 1 the server said no, 2 wrong usage, 3 no server reached in time, 4 permission or TLS.\n"
    "The flags above work after the command too. `ringctl COMMAND --help` tells more.";

// Assigns a value that was read, or says why there is none.
template <typename T, typename Target>
absl::Status Assign(absl::StatusOr<T> value, Target* target) {
  if (value.ok()) *target = *std::move(value);
  return value.status();
}

template <typename Text>
void AddText(Node* node, const Flag& flag, Text* value) {
  CommandTree::AddFlag(node, flag, [value](const std::string& text) {
    *value = text;
    return absl::OkStatus();
  });
}

void AddNumber(Node* node, const std::string& name, std::optional<uint32_t>* value, const std::string& help) {
  CommandTree::AddFlag(node, {name, "N", help}, [what = name.substr(2), value](const std::string& text) {
    return Assign(ParseWireNumber(what, text), value);
  });
}

void AddVersion(Node* node, const std::string& name, std::optional<v1::Version>* value, const std::string& help) {
  CommandTree::AddFlag(node, {name, "E/R", help}, [name, value](const std::string& text) {
    *value = ParseVersion(text);
    if (*value) return absl::OkStatus();
    return absl::InvalidArgumentError(
        fmt::format("{} {} is not EPOCH/REVISION, two numbers below 2^64", name, Quoted(text)));
  });
}

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

 private:
  using Action = std::function<ExitCode(const Words&)>;

  Node* AddCommand(Node* above, const std::string& name, const std::string& help, Words words, Action run,
                   LastWord last = LastWord::kOnce);
  void AddGlobalFlags();
  void AddRingCommands();
  void AddNodeCommands();
  void AddLookup();
  void AddWatch();
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
  NodeFields fields_;
  LookupOptions lookup_;
  WatchOptions watch_;
};

CommandLine::CommandLine() {
  AddGlobalFlags();
  AddRingCommands();
  AddNodeCommands();
  AddLookup();
  AddWatch();
  AddCommand(tree_.root(), "status", "health, build and rings of every endpoint", {},
             [this](const Words&) { return Status(global_); });
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
  if (tls_.cert.empty() != tls_.key.empty()) return tree_.ReportUsage("--cert and --key go together");
  if (tls_.cacert.empty() && !tls_.cert.empty()) return tree_.ReportUsage("--cert needs --cacert");
  if (tls_.cacert.empty()) return ExitCode::kOk;
  absl::StatusOr<Security> security = Security::FromFiles(tls_);
  if (!security.ok()) return ReportError(ExitCode::kDenied, std::string(security.status().message()));
  global_.security = *std::move(security);
  return ExitCode::kOk;
}

void CommandLine::AddGlobalFlags() {
  Node* root = tree_.root();
  global_.endpoints = {"127.0.0.1:7440"};
  CommandTree::AddFlag(
      root,
      {"--endpoints", "LIST", "HOST:PORT or unix:PATH, with commas between; tried in order [127.0.0.1:7440]",
       "RINGCTL_ENDPOINTS"},
      [this](const std::string& text) { return Assign(ParseEndpoints(text), &global_.endpoints); });
  AddText(root, {"--cacert", "FILE", "CAs of the servers' certificates (PEM); TLS where it is given", "RINGCTL_CACERT"},
          &tls_.cacert);
  AddText(root, {"--cert", "FILE", "certificate to show to servers (PEM)", "RINGCTL_CERT"}, &tls_.cert);
  AddText(root, {"--key", "FILE", "key of that certificate (PEM)", "RINGCTL_KEY"}, &tls_.key);
  CommandTree::AddFlag(root, {"--timeout", "TIME", "for each call, tries included, such as 500ms [5s]"},
                       [this](const std::string& text) { return Assign(ParseTimeout(text), &global_.timeout); });
  static const std::map<std::string, Format> formats = {
      {"table", Format::kTable}, {"json", Format::kJson}, {"yaml", Format::kYaml}, {"tsv", Format::kTsv}};
  CommandTree::AddFlag(
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
  Node* ring = tree_.AddGroup("ring", "create, get, list or delete rings");
  Node* create = AddCommand(ring, "create", "make an empty ring", {"RING"}, [this](const Words& words) {
    create_.ring = words[0];
    create_.mutation = mutation_;
    Session session(global_);
    return RingCreate(session, create_);
  });
  AddText(create, {"--placement", "KIND", "hashed [hashed]; slots is not served yet", "", {"hashed", "slots"}},
          &create_.placement);
  AddNumber(create, "--points-per-weight", &create_.points_per_weight,
            "points on the circle for each unit of weight [2]");
  AddNumber(create, "--default-weight", &create_.default_weight, "weight of nodes that are added without one [100]");
  AddPairs(create, "--label", &create_.labels, "a label of the ring; may come again");
  AddMutationFlags(create);

  AddCommand(ring, "get", "show a ring and its nodes with their shares", {"RING"}, [this](const Words& words) {
    Session session(global_);
    return RingGet(session, words[0]);
  });
  AddCommand(ring, "list", "list the rings", {}, [this](const Words&) {
    Session session(global_);
    return RingList(session);
  });
  Node* remove =
      AddCommand(ring, "delete", "delete a ring with its nodes and its history", {"RING"}, [this](const Words& words) {
        Session session(global_);
        return RingDelete(session, words[0], mutation_);
      });
  AddMutationFlags(remove);
  AddIfVersion(remove);
  AddForce(remove, "even if the ring has nodes");
}

void CommandLine::AddNodeCommands() {
  Node* node = tree_.AddGroup("node", "add, update, remove or list the nodes of a ring");
  Node* add = AddCommand(node, "add", "add a node to a ring", {"RING", "ID"}, [this](const Words& words) {
    Session session(global_);
    return NodeAdd(session, NodeOptionsOf(words));
  });
  AddText(add, {"--hash-key", "TEXT", "the text that is hashed for the node [its ID]"}, &fields_.hash_key);
  Node* update = AddCommand(node, "update", "change fields of a node", {"RING", "ID"}, [this](const Words& words) {
    if (!fields_.address && !fields_.weight && !fields_.zone && !fields_.metadata) {
      return tree_.ReportUsage("nothing to update", "name a field: --address, --weight, --zone or --metadata");
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
  for (Node* changing : {add, update, remove}) {
    AddMutationFlags(changing);
    AddIfVersion(changing);
  }
  for (Node* taking : {update, remove}) {
    AddForce(taking, "even if it takes more than half of the ring's weight, or its last weighted node");
  }
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
  AddNumber(lookup, "--owners", &lookup_.owners, "how many distinct nodes a key [1]");
  AddVersion(lookup, "--min-version", &lookup_.min_version, "the answer must be at this version of the ring or later");
  CommandTree::AddSwitch(lookup, "--null", &lookup_.null_separated,
                         "a NUL ends each key on stdin, instead of a newline");
  CommandTree::SetFooter(
      lookup,
      "-o tsv prints KEY<TAB>OWNER[,OWNER...]; control bytes, backslash and bytes that are not UTF-8 are \\xHH, and "
      "so\n"
      "is a comma inside an id. -o json prints the answer of one key, or of many\n"
      "{\"results\":[{\"key\",\"owners\",\"version\"},...]}, a result a line; a key that is not UTF-8 is "
      "\"key_base64\".\n"
      "--timeout holds for each batch. After `--` a KEY may begin with `-`.");
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
  AddVersion(watch, "--from", &watch_.from, "the version that is held: changes since then come first");
}

void CommandLine::AddMutationFlags(Node* node) {
  CommandTree::AddSwitch(node, "--dry-run", &mutation_.dry_run, "show what would result and change nothing");
  AddText(node, {"--reason", "TEXT", "why, for those who read the history"}, &mutation_.reason);
  CommandTree::AddSwitch(node, "-y,--yes", &mutation_.yes, "do not ask; what asks nothing takes it too");
}

void CommandLine::AddIfVersion(Node* node) {
  AddVersion(node, "--if-version", &mutation_.if_version, "only if the ring is at this version");
}

void CommandLine::AddForce(Node* node, const std::string& help) {
  CommandTree::AddSwitch(node, "--force", &mutation_.force, help);
}

void CommandLine::AddNodeFlags(Node* node) {
  AddText(node, {"--address", "TEXT", "where callers reach the node"}, &fields_.address);
  AddNumber(node, "--weight", &fields_.weight, "part of the keys, against the other weights; 0 owns nothing");
  AddText(node, {"--zone", "TEXT", "rack or availability zone"}, &fields_.zone);
  AddPairs(node, "--metadata", &fields_.metadata,
           "free text for callers; may come again; replaces all that was there, '' by nothing");
}

}  // namespace

ExitCode RunCommandLine(std::vector<std::string> arguments) {
  if (!arguments.empty() && arguments.front() == "--version") arguments.front() = "version";
  return CommandLine().Run(std::move(arguments));
}

}  // namespace ringd::ctl
