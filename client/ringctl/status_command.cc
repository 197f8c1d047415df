#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <future>
#include <memory>

#include "client/ringctl/channel.h"
#include "client/ringctl/commands.h"
#include "client/ringctl/failure.h"
#include "client/ringctl/json.h"
#include "client/ringctl/ring_pages.h"
#include "client/ringctl/ring_view.h"
#include "client/ringctl/standard_output.h"
#include "client/ringctl/version_text.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace ringd::ctl {
namespace {

using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

constexpr std::array<const char*, 3> kServices = {"", "ringd.v1.Directory", "ringd.v1.Directory.Write"};

// EndpointStatus is what one endpoint answered.
struct EndpointStatus {
  std::string endpoint;
  bool reached = false;
  grpc::Status status;                               // of reaching it and reading its rings
  std::array<std::string, kServices.size()> health;  // "SERVING", ..., by the order of kServices; empty = not asked
  v1::ListRingsResponse rings;

  bool AllServing() const {
    return std::all_of(health.begin(), health.end(), [](const std::string& text) { return text == "SERVING"; });
  }
};

std::string AskHealth(Health::Stub& stub, const char* service, Clock::time_point deadline) {
  grpc::ClientContext context;
  context.set_deadline(deadline);
  HealthCheckRequest request;
  request.set_service(service);
  HealthCheckResponse response;
  const grpc::Status status = stub.Check(&context, request, &response);
  if (!status.ok()) return CodeName(status.error_code());
  return HealthCheckResponse::ServingStatus_Name(response.status());
}

EndpointStatus AskEndpoint(const std::string& endpoint, const GlobalOptions& global) {
  EndpointStatus result;
  result.endpoint = endpoint;
  Connection connection({endpoint}, global.security, global.timeout);
  const auto reached = connection.Reach();
  result.status = reached.status;
  result.reached = reached.status.ok();
  if (!result.reached) return result;
  Health::Stub health(NewChannel(endpoint, global.security));
  const auto deadline = connection.NewDeadline();
  for (std::size_t i = 0; i < kServices.size(); ++i) {
    result.health[i] = AskHealth(health, kServices[i], deadline);
  }
  Answer<v1::ListRingsResponse> rings = ReadRings(connection);
  result.status = rings.status;
  result.rings = std::move(rings.value);
  return result;
}

Json StatusJson(const std::vector<EndpointStatus>& statuses) {
  Json endpoints = Json::array();
  for (const EndpointStatus& status : statuses) {
    Json item = {{"endpoint", status.endpoint}, {"error", ""}, {"health", Json::object()}};
    if (!status.status.ok()) {
      item["error"] = fmt::format("{} ({})", status.status.error_message(), CodeName(status.status.error_code()));
    }
    for (std::size_t i = 0; i < kServices.size(); ++i) {
      if (!status.health[i].empty()) item["health"][kServices[i]] = status.health[i];
    }
    const Json rings = ToJson(status.rings);
    item["server_version"] = rings["server_version"];
    item["rings"] = rings["rings"];
    endpoints.push_back(std::move(item));
  }
  return {{"endpoints", std::move(endpoints)}};
}

Rows EndpointRows(const std::vector<EndpointStatus>& statuses) {
  Rows rows;
  rows.headers = {"ENDPOINT", "HEALTH", "DIRECTORY", "WRITE", "VERSION", "RINGS"};
  for (const EndpointStatus& status : statuses) {
    const std::string health = status.health[0].empty() ? "UNREACHABLE" : status.health[0];
    rows.cells.push_back({status.endpoint, health, status.health[1], status.health[2], status.rings.server_version(),
                          status.status.ok() ? std::to_string(status.rings.rings_size()) : ""});
  }
  return rows;
}

Rows EndpointRingRows(const std::vector<EndpointStatus>& statuses) {
  Rows rows;
  rows.headers = {"ENDPOINT", "RING", "VERSION", "CHECKSUM", "NODES"};
  for (const EndpointStatus& status : statuses) {
    for (const v1::Ring& ring : status.rings.rings()) {
      rows.cells.push_back({status.endpoint, ring.name(), VersionText(ring.version()), ChecksumText(ring.checksum()),
                            std::to_string(ring.node_count())});
    }
  }
  return rows;
}

std::string StatusText(const std::vector<EndpointStatus>& statuses, const GlobalOptions& global) {
  switch (global.format) {
    case Format::kJson:
      return JsonText(StatusJson(statuses));
    case Format::kYaml:
      return YamlText(StatusJson(statuses));
    case Format::kTable:
    case Format::kTsv:
      break;
  }
  const Rows endpoints = EndpointRows(statuses);
  Rows rings = EndpointRingRows(statuses);
  if (global.format == Format::kTable) {
    return RowsText(endpoints, global) + (rings.cells.empty() ? "" : "\n" + RowsText(rings, global));
  }
  // One stream of rows of two kinds, told apart by their first cell.
  Rows all = endpoints;
  for (auto& row : all.cells) row.insert(row.begin(), "endpoint");
  for (auto& row : rings.cells) {
    row.insert(row.begin(), "ring");
    all.cells.push_back(std::move(row));
  }
  return TsvText(all);
}

}  // namespace

ExitCode Status(const GlobalOptions& global) {
  std::vector<std::future<EndpointStatus>> asked;
  for (const std::string& endpoint : global.endpoints) {
    asked.push_back(std::async(std::launch::async, AskEndpoint, endpoint, std::cref(global)));
  }
  std::vector<EndpointStatus> statuses;
  statuses.reserve(asked.size());
  for (auto& future : asked) statuses.push_back(future.get());
  Print(StatusText(statuses, global));

  ExitCode code = ExitCode::kOk;
  for (const EndpointStatus& status : statuses) {
    if (!status.status.ok()) {
      // One that was not reached is named in the text.
      code = std::max(code, ReportStatus(status.status, status.reached ? status.endpoint : ""));
    } else if (!status.AllServing()) {
      code = std::max(
          code, ReportError(ExitCode::kRefused, fmt::format("{} does not serve everything: {} {} {}", status.endpoint,
                                                            status.health[0], status.health[1], status.health[2])));
    }
  }
  return code;
}

}  // namespace ringd::ctl
