#pragma once

#include <string>

#include "client/ringctl/exit_code.h"
#include "client/ringctl/node_difference.h"
#include "client/ringctl/session.h"

namespace ringd::ctl {

// RingComparison is a ring as it is against a file that says how it shall be: where `apply` and `diff` begin.
struct RingComparison {
  NodeFile file;
  v1::GetRingResponse ring;
  NodeDifference difference;
};

// ReadNodeFile reads a file of nodes; "-" is standard input. kUsage, when it has told what is wrong with it.
ExitCode ReadNodeFile(const std::string& name, NodeFile* file);

// CompareRing reads the ring and compares it with `comparison->file`. Not kOk, when it has told why it cannot.
ExitCode CompareRing(Session& session, const std::string& ring, RingComparison* comparison);

}  // namespace ringd::ctl
