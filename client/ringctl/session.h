#pragma once

#include "client/ringctl/connection.h"
#include "client/ringctl/options.h"

namespace ringd::ctl {

// Session is what every command works with.
struct Session {
  explicit Session(const GlobalOptions& global)
      : options(global), connection(global.endpoints, global.security, global.timeout) {}

  const GlobalOptions& options;
  Connection connection;
};

}  // namespace ringd::ctl
