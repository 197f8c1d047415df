#include "client/ringctl/mutation.h"

#include <fmt/format.h>

#include <random>

#include "client/ringctl/escape.h"
#include "client/ringctl/failure.h"
#include "client/ringctl/json.h"
#include "client/ringctl/movement_view.h"
#include "client/ringctl/ring_view.h"
#include "client/ringctl/standard_output.h"
#include "client/ringctl/version_text.h"
#include "ring/utf8.h"

namespace ringd::ctl {
namespace {

std::string NewRequestId() {
  std::random_device random;
  std::string id = "ringctl-";
  for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", random());
  return id;
}

std::string DoneText(const MutationOutcome& outcome, const ChangeWords& words) {
  if (outcome.previous == nullptr) {
    return fmt::format("{} {}: version {}\n", words.subject, words.predicate, VersionText(*outcome.version));
  }
  if (SameVersion(*outcome.previous, *outcome.version)) {
    return fmt::format("nothing changed: revision {}\n", outcome.version->revision());
  }
  return fmt::format("{} {}: {}{}\n", words.subject, words.predicate,
                     RevisionStepText(*outcome.previous, *outcome.version), MovedText(outcome.movement));
}

std::string PlanText(const MutationOutcome& outcome, const ChangeWords& words, const GlobalOptions& options) {
  const v1::Plan& plan = *outcome.plan;
  std::string text = fmt::format("dry run, nothing was changed: {} would be {}", words.subject, words.predicate);
  if (outcome.previous == nullptr) {
    if (outcome.version->epoch() != 0) text += fmt::format(": last version {}", VersionText(*outcome.version));
  } else if (SameVersion(plan.ring().version(), *outcome.version)) {
    text += fmt::format(": it is so already, at version {}", VersionText(*outcome.version));
  } else {
    text +=
        fmt::format(": {}{}", RevisionStepText(*outcome.version, plan.ring().version()), MovedText(outcome.movement));
  }
  text += '\n';
  text += ForceText(plan);
  const std::string moves = outcome.movement == nullptr ? "" : MovementBlock(*outcome.movement, options);
  if (!moves.empty()) text += "\n" + moves;
  if (!plan.has_ring()) return text;
  text += "\n" + RingBlock(plan.ring());
  if (plan.nodes_size() > 0) text += "\n" + RowsText(NodeRows(plan.ring(), plan.nodes(), Format::kTable), options);
  if (plan.nodes_left_out() > 0) text += fmt::format("... and {} nodes more\n", plan.nodes_left_out());
  return text;
}

std::string OutcomeText(const MutationOutcome& outcome, const ChangeWords& words, const GlobalOptions& options) {
  switch (options.format) {
    case Format::kJson:
      return JsonText(ToJson(*outcome.response));
    case Format::kYaml:
      return YamlText(ToJson(*outcome.response));
    case Format::kTsv:
      return fmt::format("{}\t{}\n", VersionText(*outcome.version),
                         outcome.previous == nullptr ? "" : VersionText(*outcome.previous));
    case Format::kTable:
      break;
  }
  if (outcome.plan != nullptr) return PlanText(outcome, words, options);
  return options.quiet ? "" : DoneText(outcome, words);
}

}  // namespace

void FillOptions(const MutationFlags& flags, v1::MutationOptions* options) {
  if (flags.if_version) *options->mutable_expected_version() = *flags.if_version;
  options->set_request_id(NewRequestId());
  options->set_reason(flags.reason);
  options->set_validate_only(flags.dry_run);
  options->set_force(flags.force);
}

std::string ForceText(const v1::Plan& plan) {
  return plan.force_needed() ? fmt::format("needs --force: {}\n", ring::Shown(plan.force_reason())) : "";
}

void PrintOutcome(const MutationOutcome& outcome, const ChangeWords& words, const GlobalOptions& options) {
  // Its two columns have no room for it.
  if (!options.quiet && options.format == Format::kTsv && outcome.plan != nullptr && outcome.plan->force_needed()) {
    Notice(fmt::format("note: needs --force: {}", ring::Shown(outcome.plan->force_reason())));
  }
  Print(OutcomeText(outcome, words, options));
  if (options.quiet) return;
  for (const std::string& warning : outcome.warnings) Notice(fmt::format("warning: {}", ring::Shown(warning)));
}

}  // namespace ringd::ctl
