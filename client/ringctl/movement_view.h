#pragma once

#include <string>

#include "client/ringctl/options.h"
#include "ringd/v1/directory.pb.h"

namespace ringd::ctl {

// MovedText is such as ", 24.8% moved"; empty where the movement was not computed.
std::string MovedText(const v1::Movement* movement);

// MovementBlock shows the largest pairs and the balance before and after; empty where no key gets another owner.
std::string MovementBlock(const v1::Movement& movement, const GlobalOptions& options);

}  // namespace ringd::ctl
