#include <fmt/format.h>

#include <algorithm>

#include "client/ringctl/commands.h"
#include "client/ringctl/failure.h"
#include "client/ringctl/json.h"
#include "client/ringctl/standard_output.h"
#include "client/ringctl/table.h"

namespace ringd::ctl {
namespace {

// The version of ringctl itself does not wait longer for a server.
constexpr std::chrono::milliseconds kPatience{500};

}  // namespace

ExitCode Version(const GlobalOptions& global) {
  Connection connection(global.endpoints, global.security, std::min(global.timeout, kPatience));
  v1::ListRingsRequest request;
  request.set_page_size(1);
  const Answer<v1::ListRingsResponse> answer = connection.Call(&v1::Directory::Stub::ListRings, request);
  const std::string server = answer.status.ok() ? answer.value.server_version() : "";

  Json versions = {{"client_version", RINGD_VERSION}, {"server_version", server}};
  switch (global.format) {
    case Format::kJson:
      Print(JsonText(versions));
      break;
    case Format::kYaml:
      Print(YamlText(versions));
      break;
    case Format::kTsv:
      Print(TsvText({{}, {{"client", RINGD_VERSION}, {"server", server}}}));
      break;
    case Format::kTable:
      Print(fmt::format("ringctl {}\n", RINGD_VERSION));
      Print(server.empty() ? "ringd   not reached\n" : fmt::format("ringd   {}\n", server));
      break;
  }
  if (!answer.status.ok() && !global.quiet) {
    Notice(fmt::format("note: no version of a server: {} ({})", answer.status.error_message(),
                       CodeName(answer.status.error_code())));
  }
  return ExitCode::kOk;
}

}  // namespace ringd::ctl
