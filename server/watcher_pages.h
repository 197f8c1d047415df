// Answers ReportWatch and ListWatchers. Any thread. REQUIRES requests that CheckRequest accepted.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "ringd/v1/directory.pb.h"
#include "server/directory.h"
#include "server/watchers.h"

namespace ringd::server {

// Where the page begins that a page_token of ListWatchers asks for; nothing for a text that is none.
std::optional<WatcherRow::Key> WatcherOfToken(std::string_view token);

// NOT_FOUND when no Watch has the name.
absl::Status AnswerReportWatch(const v1::ReportWatchRequest& request, Watchers& watchers);

// A page of `page` watchers at most. NOT_FOUND for a ring that is neither there nor watched.
absl::Status AnswerListWatchers(const Directory& directory, const Watchers& watchers,
                                const v1::ListWatchersRequest& request, size_t page,
                                v1::ListWatchersResponse* response);

}  // namespace ringd::server
