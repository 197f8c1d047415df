// RingdProcess: a real ringd on loopback, with a data directory of its own, for C++ tests.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace ringd::support {

class RingdProcess {
 public:
  // Starts it on a free port. A test cannot go on where it does not start: the process of the test ends.
  explicit RingdProcess(std::vector<std::string> flags = {});
  RingdProcess(const RingdProcess&) = delete;
  // Kills it and removes its data directory.
  ~RingdProcess();

  // HOST:PORT; stays the same over restarts.
  const std::string& endpoint() const { return endpoint_; }

  // Starts it again, after Kill or Stop, and waits until it listens.
  void Start();
  // SIGKILL. Waits for the end.
  void Kill() { End(9); }
  // SIGTERM. Waits for the end.
  void Stop() { End(15); }
  // SIGSTOP, until Resume. Waits until it stands still.
  void Pause() const;
  void Resume() const;

 private:
  void End(int signal);

  const std::filesystem::path dir_;
  const std::vector<std::string> flags_;
  std::string endpoint_ = "127.0.0.1:0";
  pid_t pid_ = 0;  // 0 = not running
};

}  // namespace ringd::support
