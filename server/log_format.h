// How the lines of the log are written.
#pragma once

namespace ringd::server {

enum class LogFormat {
  kText,  // for people
  kJson,  // an object a line
};

}  // namespace ringd::server
