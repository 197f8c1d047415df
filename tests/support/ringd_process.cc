#include "tests/support/ringd_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

extern char** environ;

namespace ringd::support {
namespace {

constexpr std::string_view kListening = "listening on ";

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "RingdProcess: %s\n", what.c_str());
  std::exit(1);
}

std::filesystem::path MakeDir() {
  std::string path = std::filesystem::temp_directory_path() / "ringd-test-XXXXXX";  // mkdtemp's own pattern
  if (mkdtemp(path.data()) == nullptr) Fail("no temporary directory");
  return path;
}

}  // namespace

RingdProcess::RingdProcess(std::vector<std::string> flags) : dir_(MakeDir()), flags_(std::move(flags)) { Start(); }

RingdProcess::~RingdProcess() {
  if (pid_ != 0) Kill();
  std::filesystem::remove_all(dir_);
}

void RingdProcess::Start() {
  std::array<int, 2> log{};
  if (pipe2(log.data(), O_CLOEXEC) != 0) Fail("no pipe");
  const std::string data_dir = dir_ / "data";
  std::vector<std::string> words{RINGD_PROGRAM, "--init",  "--data-dir",    data_dir,
                                 "--listen",    endpoint_, "--http-listen", ""};
  words.insert(words.end(), flags_.begin(), flags_.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, log[1], STDERR_FILENO);
  const int error = posix_spawn(&pid_, RINGD_PROGRAM, &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(log[1]);
  if (error != 0) Fail("cannot start " + words[0]);

  // The rest of its log is not read: ringd drops lines that nobody takes.
  std::string text;
  for (char byte = 0; text.find(kListening) == std::string::npos || byte != '\n'; text += byte) {
    if (read(log[0], &byte, 1) != 1) Fail("ringd did not start: " + text);
  }
  close(log[0]);
  const size_t begin = text.rfind(kListening) + kListening.size();
  endpoint_ = text.substr(begin, text.find_first_of(" \n", begin) - begin);  // then "(plaintext)"
}

void RingdProcess::Pause() const {
  kill(pid_, SIGSTOP);
  waitpid(pid_, nullptr, WUNTRACED);
}

void RingdProcess::Resume() const { kill(pid_, SIGCONT); }

void RingdProcess::End(int signal) {
  kill(pid_, signal);
  waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

}  // namespace ringd::support
