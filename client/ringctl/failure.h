#pragma once

#include <grpcpp/support/status.h>

#include <string>
#include <string_view>

#include "client/ringctl/exit_code.h"

namespace ringd::ctl {

// What a command says when it fails: on stderr, "error: ..." on one line and, where something helps, "hint: ..." on a
// second. Texts are escaped here.

// ExitCodeOf says how a command ends whose RPC was answered with `status`.
ExitCode ExitCodeOf(const grpc::Status& status);

// ReportStatus prints a status that is not OK with its code, and a hint by its code and ErrorInfo reason. `where` goes
// in front, such as "line 7"; may be empty. Returns its exit code.
ExitCode ReportStatus(const grpc::Status& status, std::string_view where = "");

// ReportError prints an error that is no answer of a server; `hint` may be empty. Returns `code`.
ExitCode ReportError(ExitCode code, std::string_view text, std::string_view hint = "");

// Notice prints a line on stderr about something that is no error.
void Notice(std::string_view text);

// CodeName is the name of a status code, such as "NOT_FOUND".
std::string CodeName(grpc::StatusCode code);

}  // namespace ringd::ctl
