#include "client/ringctl/question_commands.h"

#include <utility>

#include "client/ringctl/commands.h"
#include "client/ringctl/flag_values.h"
#include "client/ringctl/help_texts.h"

namespace ringd::ctl {
namespace {

constexpr char kToHelp[] = "the version to compare with [the ring as it is]";

}  // namespace

void QuestionCommands::AddTo(const AddCommand& add) {
  AddDiff(add);
  AddMoved(add);
  add("ranges", "tell the ranges of hashes that a node owns", {"RING", "ID"}, [this](const Words& words) {
    Session session(global_);
    return Ranges(session, words[0], words[1]);
  });
  AddExplain(add);
  AddSimulate(add);
}

void QuestionCommands::AddDiff(const AddCommand& add) {
  CommandTree::Node* diff =
      add("diff", "tell what apply would change, or what moved since a version: exit code 0 nothing, 1 something",
          {"RING"}, [this](const Words& words) { return RunDiff(words); });
  AddText(tree_, diff, {"-f,--file", "FILE", "the nodes as they shall be, in YAML or JSON; `-` is stdin"}, &diff_.file);
  AddVersion(tree_, diff, "--from", &versions_.from, "instead of a file: tell what moved since this version");
  AddVersion(tree_, diff, "--to", &versions_.to, kToHelp);
  tree_.SetFooter(diff, kDiffFooter);
}

ExitCode QuestionCommands::RunDiff(const Words& words) {
  if (diff_.file.empty() == !versions_.from) return tree_.ReportUsage("diff takes either -f FILE or --from E/R");
  if (versions_.to && !versions_.from) return tree_.ReportUsage("--to needs --from");
  Session session(global_);
  diff_.ring = versions_.ring = words[0];
  return versions_.from ? DiffVersions(session, versions_) : Diff(session, diff_);
}

void QuestionCommands::AddMoved(const AddCommand& add) {
  CommandTree::Node* moved =
      add("moved", "tell those keys of a file that moved between two versions; `-` reads keys from stdin, one a line",
          {"RING", "FILE"}, [this](const Words& words) {
            if (!versions_.from) return tree_.ReportUsage("--from E/R is missing");
            if (global_.format == Format::kYaml) return tree_.ReportUsage("moved prints -o table, tsv or json");
            versions_.ring = words[0];
            Session session(global_);
            return Moved(session, {versions_, words[1], null_separated_});
          });
  AddVersion(tree_, moved, "--from", &versions_.from, "the earlier version; `ringctl history RING` shows them");
  AddVersion(tree_, moved, "--to", &versions_.to, kToHelp);
  CommandTree::AddSwitch(moved, "--null", &null_separated_, "a NUL ends each key, instead of a newline");
  tree_.SetFooter(moved, kMovedFooter);
}

void QuestionCommands::AddExplain(const AddCommand& add) {
  CommandTree::Node* explain =
      add("explain", "tell why a key has its owners: its hash, its point or slot, and what was passed over",
          {"RING", "KEY"}, [this](const Words& words) {
            explain_.ring = words[0];
            explain_.key = words[1];
            Session session(global_);
            return Explain(session, explain_);
          });
  AddNumber(tree_, explain, "--owners", &explain_.owners, "how many distinct nodes [3]");
}

void QuestionCommands::AddSimulate(const AddCommand& add) {
  CommandTree::Node* simulate =
      add("simulate", "tell what the other nodes would own if some were lost; changes nothing", {"RING"},
          [this](const Words& words) {
            if (simulate_.nodes.empty() == simulate_.zone.empty()) {
              return tree_.ReportUsage("simulate takes either --lose ID, which may come again, or --lose-zone ZONE");
            }
            simulate_.ring = words[0];
            Session session(global_);
            return Simulate(session, simulate_);
          });
  CommandTree::AddListFlag(simulate, {"--lose", "ID", "a node that is lost; may come again"}, [this](const Words& ids) {
    simulate_.nodes = ids;
    return absl::OkStatus();
  });
  AddText(tree_, simulate, {"--lose-zone", "ZONE", "all nodes of a zone are lost"}, &simulate_.zone);
  tree_.SetFooter(simulate, kSimulateFooter);
}

}  // namespace ringd::ctl
