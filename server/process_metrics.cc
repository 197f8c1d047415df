#include "server/process_metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <sstream>
#include <string>

#include "absl/time/clock.h"

namespace ringd::server {
namespace {

std::string ReadFile(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// When the process began. /proc/stat, which has the time of boot, is hidden from a service with ProcSubset=pid; so it
// is told from the clock that the start is counted on, once, as the two clocks may drift.
absl::Time StartTime() {
  const std::string stat = ReadFile("/proc/self/stat");
  std::istringstream fields(stat.substr(std::min(stat.rfind(')') + 1, stat.size())));
  std::string skipped;
  for (int field = 3; field < 22; field++) fields >> skipped;
  uint64_t ticks = 0;
  if (!(fields >> ticks)) return absl::InfinitePast();
  timespec since_boot{};
  clock_gettime(CLOCK_BOOTTIME, &since_boot);
  const absl::Duration after_boot =
      absl::Seconds(static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK)));
  return absl::Now() - (absl::DurationFromTimespec(since_boot) - after_boot);
}

std::optional<double> OpenDescriptors() {
  DIR* directory = opendir("/proc/self/fd");
  if (directory == nullptr) return std::nullopt;
  double count = 0;
  for (const dirent* entry = readdir(directory); entry != nullptr; entry = readdir(directory)) {
    if (entry->d_name[0] != '.') count++;
  }
  closedir(directory);
  return count - 1;  // the directory's own
}

double CpuSeconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return absl::ToDoubleSeconds(absl::DurationFromTimespec(used));
}

}  // namespace

ProcessMetrics::ProcessMetrics() : start_time_(StartTime()) {}

MetricFamilies ProcessMetrics::Collect() const {
  MetricFamilies families;
  const auto add = [&families](prometheus::MetricFamily family, double value) {
    AddSeries(family, {}, value);
    families.push_back(std::move(family));
  };
  add(Counters("process_cpu_seconds_total", "Time of processors used, in user and system mode."), CpuSeconds());
  if (const auto open = OpenDescriptors(); open.has_value()) {
    add(Gauges("process_open_fds", "Open file descriptors."), *open);
  }
  if (rlimit limit{}; getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    const bool unlimited = limit.rlim_cur == RLIM_INFINITY;
    add(Gauges("process_max_fds", "File descriptors that the process may have open."),
        unlimited ? std::numeric_limits<double>::infinity() : static_cast<double>(limit.rlim_cur));
  }
  std::istringstream pages(ReadFile("/proc/self/statm"));
  uint64_t size = 0;
  uint64_t resident = 0;
  if (pages >> size >> resident) {
    const auto page_bytes = static_cast<double>(sysconf(_SC_PAGESIZE));
    add(Gauges("process_virtual_memory_bytes", "Virtual memory."), static_cast<double>(size) * page_bytes);
    add(Gauges("process_resident_memory_bytes", "Memory that is resident."),
        static_cast<double>(resident) * page_bytes);
  }
  if (start_time_ != absl::InfinitePast()) {
    add(Gauges("process_start_time_seconds", "When the process began, in seconds since 1970."),
        absl::ToDoubleSeconds(start_time_ - absl::UnixEpoch()));
  }
  return families;
}

}  // namespace ringd::server
