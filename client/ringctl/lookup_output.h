#pragma once

#include <optional>
#include <string>

#include "client/ringctl/options.h"

namespace ringd::ctl {

// FitsRequest: the answer has owners for each key of the request, and its indices lead to nodes.
bool FitsRequest(const v1::BatchLookupRequest& request, const v1::BatchLookupResponse& response);

// LookupOutput writes the answers of many keys as one document, batch after batch, in constant memory; the forms are
// those that commands.h describes. Not thread-safe.
class LookupOutput {
 public:
  explicit LookupOutput(const GlobalOptions& options) : options_(options) {}

  // Add answers the text of one batch. REQUIRES: FitsRequest.
  std::string Add(const v1::BatchLookupRequest& request, const v1::BatchLookupResponse& response);

  // Finish answers the end of the document; empty when nothing was added.
  std::string Finish() const;

 private:
  std::string AddRows(const v1::BatchLookupRequest& request, const v1::BatchLookupResponse& response);
  std::string AddDocument(const v1::BatchLookupRequest& request, const v1::BatchLookupResponse& response);

  const GlobalOptions& options_;
  bool started_ = false;
  bool any_result_ = false;
};

}  // namespace ringd::ctl
