// The configuration file: bytes as YAML, then as settings. What is wrong is told in lines that name the place; what is
// right keeps the bounds, and reads the same when it is written anew.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/config_file.h"
#include "server/options.h"
#include "tests/fuzz/fuzz.h"

namespace ringd::server {
namespace {

using fuzz::Check;

// A file in memory, with a name.
class File {
 public:
  void Set(std::string_view content) const {
    Check(ftruncate(fd_, 0) == 0 &&
              pwrite(fd_, content.data(), content.size(), 0) == static_cast<ssize_t>(content.size()),
          "the file is written");
  }
  const std::string& name() const { return name_; }

 private:
  const int fd_ = memfd_create("config", MFD_CLOEXEC);
  const std::string name_ = "/proc/self/fd/" + std::to_string(fd_);
};

void JudgeError(const std::string& error, const std::string& file) {
  Check(error.starts_with(file + ":") || error.find(file) != std::string::npos || error.starts_with("--"),
        "an error names the file or the setting", error);
  fuzz::CheckShowable(error);
}

// The entries as YAML that leaves nothing to guess.
std::string Written(const std::vector<ConfigEntry>& entries) {
  const auto quoted = [](std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      if (byte >= 0x80) {
        out += c;
      } else {
        out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
      }
    }
    return out + "\"";
  };
  std::string text;
  for (const ConfigEntry& entry : entries) {
    text += "? " + quoted(entry.key) + "\n:";
    if (!entry.is_list) text += " " + quoted(entry.values.front());
    for (const std::string& value : entry.values) {
      if (entry.is_list) text += "\n- " + quoted(value);
    }
    text += "\n";
  }
  return text;
}

void JudgeEntries(const std::vector<ConfigEntry>& entries, const File& file, std::string_view content) {
  const int lines = 1 + static_cast<int>(std::count(content.begin(), content.end(), '\n') +
                                         std::count(content.begin(), content.end(), '\r'));
  for (const ConfigEntry& entry : entries) {
    Check(!entry.values.empty() && (entry.is_list || entry.values.size() == 1), "an entry has its values", entry.key);
    Check(entry.line >= 1 && entry.line <= lines, "an entry has its line", entry.key);
  }
  file.Set(Written(entries));
  const auto again = ReadConfigFile(file.name());
  Check(again.ok() && again->size() == entries.size(), "what was read is read again", again.status().ToString());
  for (size_t i = 0; i < entries.size(); ++i) {
    const ConfigEntry& entry = (*again)[i];
    Check(entry.key == entries[i].key && entry.is_list == entries[i].is_list && entry.values == entries[i].values,
          "and is the same", entry.key);
  }
}

void JudgeOptions(const Options& options) {
  const auto counted = [](uint64_t value) { return value >= 1 && value <= 1'000'000'000; };
  Check(!options.data_dir.empty(), "there is a data directory");
  Check(counted(options.max_rings) && counted(options.ring_limits.max_nodes) &&
            counted(options.ring_limits.max_points) && counted(options.request_limits.max_key_bytes) &&
            counted(options.request_limits.max_batch_keys) &&
            counted(static_cast<uint64_t>(options.max_request_bytes)) && counted(options.max_watches_per_connection) &&
            counted(options.max_watches),
        "what is counted is within its bounds");
  Check(options.history_age > absl::ZeroDuration() && options.heartbeat_interval.count() > 0 &&
            options.max_connection_age.count() > 0 && options.drain_timeout.count() >= 0,
        "times go forward");
  Check(options.certificates.certificate.empty() == options.certificates.key.empty(),
        "certificate and key go together");
}

}  // namespace
}  // namespace ringd::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ringd::server;
  static const File file;
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  file.Set(content);
  const auto entries = ReadConfigFile(file.name());
  if (!entries.ok()) {
    Check(absl::IsInvalidArgument(entries.status()), "what is no configuration is INVALID_ARGUMENT");
    JudgeError(std::string(entries.status().message()), file.name());
    return 0;
  }
  const ParsedOptions parsed = ParseOptions({.arguments = {"--config", file.name()}});
  for (const std::string& error : parsed.errors) JudgeError(error, file.name());
  if (parsed.errors.empty()) JudgeOptions(parsed.options);
  JudgeEntries(*entries, file, content);
  return 0;
}
