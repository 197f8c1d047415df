#include "client/ringctl/failure.h"

#include <fmt/format.h>

#include <cstdio>
#include <iterator>
#include <map>

#include "client/ringctl/progress.h"
#include "proto/status_codec.h"
#include "ring/utf8.h"

namespace ringd::ctl {
namespace {

std::string HintOf(const grpc::Status& status) {
  static const std::map<std::string, std::string> by_reason = {
      {"RING_NOT_FOUND", "`ringctl ring list` shows the rings"},
      {"RING_EXISTS", "`ringctl ring get RING` shows it"},
      {"VERSION_NOT_KEPT", "`ringctl history RING` shows the versions that are kept"},
      {"NODE_NOT_FOUND", "`ringctl node list RING` shows the nodes of a ring"},
      {"NODE_EXISTS", "`ringctl node update RING ID` changes a node that is there"},
      {"RING_EMPTY", "add a node of weight > 0 with `ringctl node add`, or raise a weight with `ringctl node update`"},
      {"RING_IMPORTED", "`ringctl ring import RING FILE` takes its nodes and slots from Redis anew"},
      {"FORCE_REQUIRED", "add --force to do it all the same; --dry-run shows what would result"},
      {"VERSION_NOT_REACHED", "the ring has not come that far: ask again later, or without --min-version"},
      {"STORE_UNREACHABLE", "its log says why; it may have to be started anew: see the runbook in deploy/README.md"},
      {"DRAINING", "it is being stopped: try again when it is back, or name another server with --endpoints"},
      {"VERSION_MISMATCH", "read the ring again with `ringctl ring get RING` and redo with its version"},
  };
  const auto hint = by_reason.find(ReasonOf(status));
  if (hint != by_reason.end()) return hint->second;
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
      return "is ringd running there? --endpoints or RINGCTL_ENDPOINTS name the addresses where it serves gRPC";
    case grpc::StatusCode::PERMISSION_DENIED:
      return "ringd's --admin-san names the certificates that may change rings; --cert and --key say which one is "
             "shown";
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return "--timeout allows more time; if it was a change, look whether it was made before you repeat it";
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      // Of gRPC itself, before ringd saw the request.
      return ReasonOf(status).empty() ? "ringd's --max-request-bytes is the most that a message may have" : "";
    case grpc::StatusCode::INTERNAL:
      return "this is a fault of the server: please report it";
    default:
      return "";
  }
}

}  // namespace

ExitCode ExitCodeOf(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::OK:
      return ExitCode::kOk;
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return ExitCode::kUnreachable;
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED:
      return ExitCode::kDenied;
    default:
      return ExitCode::kRefused;
  }
}

ExitCode ReportStatus(const grpc::Status& status, std::string_view where) {
  const std::string text = fmt::format("{}{}{} ({})", where, where.empty() ? "" : ": ", status.error_message(),
                                       CodeName(status.error_code()));
  return ReportError(ExitCodeOf(status), text, HintOf(status));
}

ExitCode ReportError(ExitCode code, std::string_view text, std::string_view hint) {
  Notice(fmt::format("error: {}", text));
  if (!hint.empty()) Notice(fmt::format("hint: {}", hint));
  return code;
}

void Notice(std::string_view text) {
  ClearProgress();
  const std::string line = ring::Shown(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

std::string CodeName(grpc::StatusCode code) {
  static constexpr const char* kNames[] = {
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  const auto number = static_cast<std::size_t>(code);
  return number < std::size(kNames) ? kNames[number] : fmt::format("code {}", number);
}

}  // namespace ringd::ctl
