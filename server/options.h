// Options of the daemon, read from the command line.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "ring/ring.h"
#include "server/certificates.h"
#include "server/request_checks.h"

namespace ringd::server {

struct Options {
  bool has_certificates() const { return !certificates.certificate.empty(); }

  std::vector<std::string> listen = {"127.0.0.1:7440"};
  std::vector<std::string> allow_plaintext;
  std::string http_listen = "127.0.0.1:7441";
  std::string metrics_listen;
  std::string data_dir;
  bool init = false;

  // All names are empty, or none is.
  CertificateFiles certificates;
  std::vector<std::string> admin_sans;

  RequestLimits request_limits;
  ring::Limits ring_limits;
  size_t max_rings = 10'000;
  int max_request_bytes = 1 << 20;
  size_t max_watches_per_connection = 100;
  size_t metrics_max_nodes = 100;
  size_t metrics_max_series = 10'000;

  absl::Duration history_age = absl::Hours(24 * 30);
  uint32_t history_max = 100'000;
  std::chrono::milliseconds heartbeat_interval{10'000};
  // How long a drain waits for clients.
  std::chrono::milliseconds drain_timeout{5'000};
};

// What main shall do after the command line was read.
struct ParsedOptions {
  Options options;
  bool run = false;   // else leave with exit_code: help or version was printed, or the command line is wrong
  int exit_code = 0;  // 0, or 2 for wrong usage
};

ParsedOptions ParseOptions(int argc, char** argv);

}  // namespace ringd::server
