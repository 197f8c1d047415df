#include "client/ringctl/mutation.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
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

std::string AppliedText(const v1::WaitResult& wait) {
  return fmt::format("applied by {} of {} named watchers", wait.applied(), wait.watchers());
}

std::string LaggingText(const MutationOutcome& outcome) {
  constexpr int kMostNames = 10;
  const v1::WaitResult& wait = *outcome.wait;
  std::string text = fmt::format("version {} was made and is {}", VersionText(*outcome.version), AppliedText(wait));
  const int named = std::min(kMostNames, wait.lagging_size());
  const char* before = ", not by ";
  for (int i = 0; i < named; ++i) {
    text += before + Quoted(wait.lagging(i));
    before = ", ";
  }
  if (const uint32_t lagging = wait.watchers() - wait.applied(); named > 0 && lagging > static_cast<uint32_t>(named)) {
    text += fmt::format(" and {} more", lagging - static_cast<uint32_t>(named));
  }
  return text;
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
  if (options.quiet) return "";
  std::string text = DoneText(outcome, words);
  if (outcome.wait != nullptr && outcome.wait->reached()) text += AppliedText(*outcome.wait) + "\n";
  return text;
}

}  // namespace

void FillOptions(const MutationFlags& flags, v1::MutationOptions* options) {
  if (flags.if_version) *options->mutable_expected_version() = *flags.if_version;
  options->set_request_id(NewRequestId());
  options->set_reason(flags.reason);
  options->set_validate_only(flags.dry_run);
  options->set_force(flags.force);
  if (!flags.wait_for) return;
  v1::WaitFor& wait = *options->mutable_wait_for();
  wait.set_share(*flags.wait_for);
  *wait.mutable_timeout() = google::protobuf::util::TimeUtil::MillisecondsToDuration(WaitTime(flags).count());
}

ExitCode CheckWait(const MutationFlags& flags) {
  if (flags.wait_timeout && !flags.wait_for) return ReportError(ExitCode::kUsage, "--wait-timeout needs --wait-for");
  if (flags.wait_for && flags.dry_run) {
    return ReportError(ExitCode::kUsage, "--wait-for and --dry-run do not go together: nothing is there to be applied");
  }
  return ExitCode::kOk;
}

MutationFlags WithoutWait(MutationFlags flags) {
  flags.wait_for.reset();
  flags.wait_timeout.reset();
  return flags;
}

std::chrono::milliseconds WaitTime(const MutationFlags& flags) {
  constexpr std::chrono::milliseconds kDefault{5000};
  return flags.wait_for ? flags.wait_timeout.value_or(kDefault) : std::chrono::milliseconds(0);
}

std::string ForceText(const v1::Plan& plan) {
  return plan.force_needed() ? fmt::format("needs --force: {}\n", ring::Shown(plan.force_reason())) : "";
}

ExitCode PrintOutcome(const MutationOutcome& outcome, const ChangeWords& words, const GlobalOptions& options) {
  // Its two columns have no room for it.
  if (!options.quiet && options.format == Format::kTsv && outcome.plan != nullptr && outcome.plan->force_needed()) {
    Notice(fmt::format("note: needs --force: {}", ring::Shown(outcome.plan->force_reason())));
  }
  Print(OutcomeText(outcome, words, options));
  if (!options.quiet) {
    for (const std::string& warning : outcome.warnings) Notice(fmt::format("warning: {}", ring::Shown(warning)));
  }
  if (outcome.wait == nullptr || outcome.wait->reached()) return ExitCode::kOk;
  return ReportError(ExitCode::kNotApplied, LaggingText(outcome),
                     "the change stays; `ringctl watchers RING` tells who is how far");
}

}  // namespace ringd::ctl
