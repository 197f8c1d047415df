#pragma once

#include <string>

#include "ringd/v1/directory.pb.h"

namespace ringd::ctl {

// WatchLine tells one message of a Watch to a person, in one line without its end. Names in it are escaped.
std::string WatchLine(const v1::WatchResponse& message);

}  // namespace ringd::ctl
