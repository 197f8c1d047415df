#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "client/ringctl/commands.h"
#include "client/ringctl/escape.h"
#include "client/ringctl/explanation.h"
#include "client/ringctl/failure.h"
#include "client/ringctl/json.h"
#include "client/ringctl/ring_pages.h"
#include "client/ringctl/ring_view.h"
#include "client/ringctl/standard_output.h"
#include "client/ringctl/version_text.h"

namespace ringd::ctl {
namespace {

constexpr int kTries = 10;
constexpr uint32_t kDefaultOwners = 3;

// What the server says of a key and of its ring, of one version.
struct Facts {
  v1::GetRingResponse ring;
  v1::LookupResponse lookup;
};

// Not kOk, when it has told why there is no answer.
ExitCode Ask(Session& session, const ExplainOptions& options, Facts* facts) {
  v1::LookupRequest request;
  request.set_ring(options.ring);
  request.set_key(options.key);
  request.set_owners(options.owners.value_or(kDefaultOwners));
  for (int i = 0; i < kTries; ++i) {
    Answer<v1::LookupResponse> lookup = session.connection.Call(&v1::Directory::Stub::Lookup, request);
    if (!lookup.status.ok()) return ReportStatus(lookup.status);
    Answer<v1::GetRingResponse> ring = ReadRing(session.connection, options.ring);
    if (!ring.status.ok()) return ReportStatus(ring.status);
    if (!SameVersion(lookup.value.version(), ring.value.version())) continue;
    *facts = {std::move(ring.value), std::move(lookup.value)};
    return ExitCode::kOk;
  }
  return ReportStatus({grpc::StatusCode::ABORTED,
                       fmt::format("ring {} changed {} times while it was read", Quoted(options.ring), kTries)});
}

std::string HashText(uint64_t hash) { return fmt::format("0x{:x} ({})", hash, hash); }

std::string HashesText(const Explanation::Hashes& hashes) {
  return fmt::format("hashes {} to {}{}", HashText(hashes.first), HashText(hashes.last),
                     hashes.first > hashes.last ? ", over the end of the circle" : "");
}

Json ExplanationJson(const ExplainOptions& options, const Facts& facts, const Explanation& explanation) {
  Json json = KeyJson(options.key);
  json["version"] = ToJson(facts.ring.version());
  json["hash"] = std::to_string(facts.lookup.hash());
  json["hash_hex"] = fmt::format("0x{:x}", facts.lookup.hash());
  Json place = Json::object();
  if (explanation.slot) place["number"] = *explanation.slot;
  if (!explanation.slot) place["node"] = explanation.point_of;
  if (explanation.hashes) {
    place["first"] = std::to_string(explanation.hashes->first);
    place["last"] = std::to_string(explanation.hashes->last);
  }
  json[explanation.slot ? "slot" : "point"] = std::move(place);
  json["owners"] = Json::array();
  for (int i = 0; i < facts.lookup.owners_size(); ++i) {
    Json owner = ToJson(facts.lookup.owners(i));
    owner["why"] = explanation.whys[static_cast<std::size_t>(i)];
    json["owners"].push_back(std::move(owner));
  }
  json["owners_short"] = facts.lookup.owners_short();
  json["weightless"] = explanation.weightless;
  return json;
}

Rows OwnerRows(const v1::LookupResponse& lookup, const Explanation& explanation) {
  Rows rows;
  rows.headers = {"OWNER", "ZONE", "ADDRESS", "WHY"};
  for (int i = 0; i < lookup.owners_size(); ++i) {
    const v1::Owner& owner = lookup.owners(i);
    rows.cells.push_back({owner.id(), owner.zone(), owner.address(), explanation.whys[static_cast<std::size_t>(i)]});
  }
  return rows;
}

std::string Block(const ExplainOptions& options, const Facts& facts, const Explanation& explanation) {
  Rows rows;
  rows.headers = {"", ""};
  rows.cells = {{"key", options.key},
                {"ring", fmt::format("{} at version {}", options.ring, VersionText(facts.ring.version()))},
                {"hash", HashText(facts.lookup.hash())}};
  const std::string hashes = explanation.hashes ? HashesText(*explanation.hashes) : "";
  if (explanation.slot) {
    rows.cells.push_back({"slot", fmt::format("{}{}{}", *explanation.slot, hashes.empty() ? "" : ": ", hashes)});
  } else {
    rows.cells.push_back({"point", fmt::format("of {}: {}", explanation.point_of, hashes)});
  }
  if (facts.lookup.owners_short() && options.owners) {
    rows.cells.push_back({"short", fmt::format("{} of the {} owners that were asked for: there are no more",
                                               facts.lookup.owners_size(), *options.owners)});
  }
  if (!explanation.weightless.empty()) {
    rows.cells.push_back({"weight 0", fmt::format("{}", fmt::join(explanation.weightless, ", "))});
  }
  return TableText(rows, Headers::kHide);
}

}  // namespace

ExitCode Explain(Session& session, const ExplainOptions& options) {
  Facts facts;
  if (const ExitCode code = Ask(session, options, &facts); code != ExitCode::kOk) return code;
  const absl::StatusOr<Explanation> explanation = ExplainOwners(facts.ring, facts.lookup);
  if (!explanation.ok()) return ReportError(ExitCode::kRefused, std::string(explanation.status().message()));
  switch (session.options.format) {
    case Format::kJson:
      Print(JsonText(ExplanationJson(options, facts, *explanation)));
      break;
    case Format::kYaml:
      Print(YamlText(ExplanationJson(options, facts, *explanation)));
      break;
    case Format::kTsv:
      Print(TsvText(OwnerRows(facts.lookup, *explanation)));
      break;
    case Format::kTable:
      Print(Block(options, facts, *explanation) + "\n" +
            RowsText(OwnerRows(facts.lookup, *explanation), session.options));
      break;
  }
  return ExitCode::kOk;
}

}  // namespace ringd::ctl
