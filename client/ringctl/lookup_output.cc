#include "client/ringctl/lookup_output.h"

#include <vector>

#include "client/ringctl/escape.h"
#include "client/ringctl/json.h"
#include "client/ringctl/table.h"

namespace ringd::ctl {
namespace {

// Calls `use` with the node of each owner of key `key`, in order.
template <typename Use>
void ForEachOwner(const v1::BatchLookupResponse& response, int key, Use use) {
  const int stride = static_cast<int>(response.owners_per_key());
  for (int i = key * stride; i < (key + 1) * stride; ++i) use(static_cast<int>(response.owner_indices(i)));
}

std::string TsvLines(const v1::BatchLookupRequest& request, const v1::BatchLookupResponse& response) {
  std::vector<std::string> ids(static_cast<std::size_t>(response.nodes_size()));
  for (int i = 0; i < response.nodes_size(); ++i) {
    AppendTsv(response.nodes(i).id(), TsvList::kElement, &ids[static_cast<std::size_t>(i)]);
  }
  std::string text;
  for (int i = 0; i < request.keys_size(); ++i) {
    AppendTsv(request.keys(i), TsvList::kNo, &text);
    char before = '\t';
    ForEachOwner(response, i, [&](int node) {
      text += before;
      text += ids[static_cast<std::size_t>(node)];
      before = ',';
    });
    text += '\n';
  }
  return text;
}

}  // namespace

bool FitsRequest(const v1::BatchLookupRequest& request, const v1::BatchLookupResponse& response) {
  const uint64_t wanted = uint64_t{response.owners_per_key()} * static_cast<uint64_t>(request.keys_size());
  if (static_cast<uint64_t>(response.owner_indices_size()) != wanted) return false;
  if (request.keys_size() > 0 && response.owners_per_key() == 0) return false;
  for (const uint32_t index : response.owner_indices()) {
    if (index >= static_cast<uint32_t>(response.nodes_size())) return false;
  }
  return true;
}

std::string LookupOutput::Add(const v1::BatchLookupRequest& request, const v1::BatchLookupResponse& response) {
  switch (options_.format) {
    case Format::kTsv:
      return TsvLines(request, response);
    case Format::kTable:
      return AddRows(request, response);
    case Format::kJson:
    case Format::kYaml:
      break;
  }
  return AddDocument(request, response);
}

std::string LookupOutput::AddRows(const v1::BatchLookupRequest& request, const v1::BatchLookupResponse& response) {
  Rows rows;
  rows.headers = {"KEY", "OWNERS", "ADDRESSES"};
  for (int i = 0; i < request.keys_size(); ++i) {
    std::string ids;
    std::string addresses;
    ForEachOwner(response, i, [&](int node) {
      if (!ids.empty()) {
        ids += ',';
        addresses += ',';
      }
      ids += response.nodes(node).id();
      addresses += response.nodes(node).address();
    });
    if (addresses.find_first_not_of(',') == std::string::npos) addresses.clear();
    rows.cells.push_back({request.keys(i), ids, addresses});
  }
  const bool headers = !started_ && !options_.no_headers;
  started_ = true;
  return TableText(rows, headers ? Headers::kShow : Headers::kHide);
}

std::string LookupOutput::AddDocument(const v1::BatchLookupRequest& request, const v1::BatchLookupResponse& response) {
  const bool json = options_.format == Format::kJson;
  std::string text;
  if (!started_) text = json ? "{\"results\":[" : "results:";
  started_ = true;
  const Json version = ToJson(response.version());
  std::vector<Json> nodes;
  for (const v1::Owner& node : response.nodes()) nodes.push_back(ToJson(node));
  for (int i = 0; i < request.keys_size(); ++i) {
    Json result = KeyJson(request.keys(i));
    Json owners = Json::array();
    ForEachOwner(response, i, [&](int node) { owners.push_back(nodes[static_cast<std::size_t>(node)]); });
    result["owners"] = std::move(owners);
    result["version"] = version;
    if (json) {
      text += any_result_ ? ",\n" : "\n";
      text += result.dump();
    } else {
      if (!any_result_) text += '\n';
      text += YamlText(Json::array({result}));
    }
    any_result_ = true;
  }
  return text;
}

std::string LookupOutput::Finish() const {
  if (!started_) return "";
  if (options_.format == Format::kJson) return any_result_ ? "\n]}\n" : "]}\n";
  if (options_.format == Format::kYaml && !any_result_) return " []\n";
  return "";
}

}  // namespace ringd::ctl
