#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/ringctl/failure.h"
#include "client/ringctl/session.h"

namespace ringd::ctl {

// ChangeWords say what a mutation does; for `node "n4"` and `added to ring "cache"` the outcome reads
// `node "n4" added to ring "cache": revision 41 -> 42`.
struct ChangeWords {
  std::string subject;
  std::string predicate;
};

// MutationOutcome is what the answers of all mutations have in common. The pointers live as long as the answer.
struct MutationOutcome {
  const google::protobuf::Message* response;
  const v1::Version* version;
  const v1::Version* previous;   // null where the answer has none
  const v1::Movement* movement;  // null where it was not computed
  const v1::Plan* plan;          // null without --dry-run
  std::vector<std::string> warnings = {};
  const v1::WaitResult* wait = nullptr;  // null without --wait-for
};

// CheckWait says what is wrong with flags of waiting that do not go together: it reports kUsage.
ExitCode CheckWait(const MutationFlags& flags);

// WithoutWait is the flags of a change that another one follows, which waits.
MutationFlags WithoutWait(MutationFlags flags);

// WaitTime is how long the directory may wait for watchers before it answers.
std::chrono::milliseconds WaitTime(const MutationFlags& flags);

// FillOptions turns the flags into the options of a request, with a request_id of its own.
void FillOptions(const MutationFlags& flags, v1::MutationOptions* options);

// ForceText is the line that says why a change needs --force; empty where it does not.
std::string ForceText(const v1::Plan& plan);

// PrintOutcome prints an outcome in the format of `options`, and answers how the command ends: kNotApplied, told on
// stderr, where the share of the watchers that it waited for had not applied it.
ExitCode PrintOutcome(const MutationOutcome& outcome, const ChangeWords& words, const GlobalOptions& options);

// Mutate sends one mutation and prints its outcome or its error.
template <typename Request, typename Response>
ExitCode Mutate(Session& session,
                grpc::Status (v1::Directory::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                Request request, const MutationFlags& flags, const ChangeWords& words) {
  if (const ExitCode code = CheckWait(flags); code != ExitCode::kOk) return code;
  FillOptions(flags, request.mutable_options());
  const Answer<Response> answer = session.connection.Call(method, request, WaitTime(flags));
  if (!answer.status.ok()) return ReportStatus(answer.status);
  const Response& response = answer.value;
  MutationOutcome outcome{&response, &response.version(), nullptr,
                          response.has_movement() ? &response.movement() : nullptr,
                          response.has_plan() ? &response.plan() : nullptr};
  if constexpr (requires { response.previous_version(); }) outcome.previous = &response.previous_version();
  if constexpr (requires { response.warnings(); })
    outcome.warnings = {response.warnings().begin(), response.warnings().end()};
  if (response.has_wait_result()) outcome.wait = &response.wait_result();
  return PrintOutcome(outcome, words, session.options);
}

}  // namespace ringd::ctl
