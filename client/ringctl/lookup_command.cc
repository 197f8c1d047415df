#include <fmt/format.h>
#include <unistd.h>

#include "client/ringctl/argument_values.h"
#include "client/ringctl/batch_runner.h"
#include "client/ringctl/commands.h"
#include "client/ringctl/failure.h"
#include "client/ringctl/json.h"
#include "client/ringctl/key_batcher.h"
#include "client/ringctl/lookup_output.h"
#include "client/ringctl/standard_output.h"

namespace ringd::ctl {
namespace {

v1::BatchLookupRequest Prototype(const LookupOptions& options) {
  v1::BatchLookupRequest request;
  request.set_ring(options.ring);
  if (options.owners) request.set_owners(*options.owners);
  if (options.min_version) *request.mutable_min_version() = *options.min_version;
  return request;
}

// The request for a key, or for a position.
absl::StatusOr<v1::LookupRequest> RequestOf(const LookupOptions& options, const std::string& key) {
  v1::LookupRequest request;
  request.set_ring(options.ring);
  if (options.positions) {
    const absl::StatusOr<uint64_t> position = ParsePosition("position", key);
    if (!position.ok()) return position.status();
    request.set_position(*position);
  } else {
    request.set_key(key);
  }
  if (options.owners) request.set_owners(*options.owners);
  if (options.min_version) *request.mutable_min_version() = *options.min_version;
  return request;
}

void TellShort(const Session& session, const v1::LookupResponse& response) {
  if (response.owners_short() && !session.options.quiet) {
    Notice(
        fmt::format("note: fewer owners than were asked for ({}): the ring has no more nodes of weight > 0, "
                    "or its slots keep no more",
                    response.owners_size()));
  }
}

// The answer of one key as a batch of it.
std::string Add(LookupOutput& output, const std::string& key, const v1::LookupResponse& response) {
  v1::BatchLookupRequest as_request;
  as_request.add_keys(key);
  v1::BatchLookupResponse as_batch;
  as_batch.set_owners_per_key(static_cast<uint32_t>(response.owners_size()));
  *as_batch.mutable_version() = response.version();
  for (int i = 0; i < response.owners_size(); ++i) {
    *as_batch.add_nodes() = response.owners(i);
    as_batch.add_owner_indices(static_cast<uint32_t>(i));
  }
  return output.Add(as_request, as_batch);
}

// Asks for one key in a call of its own, and prints what `output` makes of it.
ExitCode LookupSingly(Session& session, const LookupOptions& options, const std::string& key, LookupOutput& output) {
  const absl::StatusOr<v1::LookupRequest> request = RequestOf(options, key);
  if (!request.ok()) return ReportError(ExitCode::kUsage, std::string(request.status().message()));
  const Answer<v1::LookupResponse> answer = session.connection.Call(&v1::Directory::Stub::Lookup, *request);
  if (!answer.status.ok()) return ReportStatus(answer.status);
  TellShort(session, answer.value);
  const Format format = session.options.format;
  if (options.keys.size() == 1 && (format == Format::kJson || format == Format::kYaml)) {
    Print(format == Format::kJson ? JsonText(ToJson(answer.value)) : YamlText(ToJson(answer.value)));
  } else {
    Print(Add(output, key, answer.value));
  }
  return ExitCode::kOk;
}

ExitCode SendKeys(BatchRunner& runner, const LookupOptions& options) {
  KeyBatcher batcher(Prototype(options));
  for (const std::string& key : options.keys) {
    if (!batcher.Fits(key)) {
      const ExitCode code = runner.Send(batcher.Take());
      if (code != ExitCode::kOk) return code;
    }
    batcher.Add(key);
  }
  const ExitCode code = runner.Send(batcher.Take());
  return code == ExitCode::kOk ? runner.Drain() : code;
}

ExitCode SendStandardInput(BatchRunner& runner, const LookupOptions& options) {
  const LineInput input{.fd = STDIN_FILENO,
                        .separator = options.null_separated ? '\0' : '\n',
                        .name = "standard input",
                        .key_of = [](std::string_view line) { return line; }};
  return SendLines(input, Prototype(options), runner);
}

}  // namespace

ExitCode Lookup(Session& session, const LookupOptions& options) {
  const bool from_input = options.keys.size() == 1 && options.keys.front() == "-";
  LookupOutput output(session.options);
  if (options.positions || (options.keys.size() == 1 && !from_input)) {
    ExitCode code = ExitCode::kOk;
    for (auto key = options.keys.begin(); key != options.keys.end() && code == ExitCode::kOk; ++key) {
      code = LookupSingly(session, options, *key, output);
    }
    Print(output.Finish());
    return code;
  }
  BatchRunner runner(session, from_input ? "line" : "key",
                     [&output](const v1::BatchLookupRequest& request, const v1::BatchLookupResponse& response) {
                       Print(output.Add(request, response));
                       return FlushOutput() ? ExitCode::kOk : ExitCode::kRefused;
                     });
  const ExitCode code = from_input ? SendStandardInput(runner, options) : SendKeys(runner, options);
  // The document ends, whether or not all went well.
  Print(output.Finish());
  return code;
}

}  // namespace ringd::ctl
