// The process_* metrics against what the system says of this very process.
#include "server/process_metrics.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <vector>

#include "absl/time/clock.h"
#include "tests/server/metrics_page.h"

namespace ringd::server {
namespace {

// Of those that are low, which are all that a test has.
double OpenDescriptors() {
  double count = 0;
  for (int fd = 0; fd < 1'024; fd++) count += fcntl(fd, F_GETFD) == -1 ? 0 : 1;
  return count;
}

TEST(ProcessMetrics, DescriptorsAreCounted) {
  const ProcessMetrics metrics;
  const double before = MetricsPage(metrics.Collect())["process_open_fds"];
  EXPECT_EQ(before, OpenDescriptors()) << "the one that counting takes is not counted";
  std::vector<int> open_files;
  for (int i = 0; i < 7; i++) open_files.push_back(open("/dev/null", O_RDONLY));
  EXPECT_EQ(MetricsPage(metrics.Collect())["process_open_fds"], before + 7);
  for (const int fd : open_files) close(fd);
  EXPECT_EQ(MetricsPage(metrics.Collect())["process_open_fds"], before);
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_EQ(MetricsPage(metrics.Collect())["process_max_fds"], static_cast<double>(limit.rlim_cur));
}

TEST(ProcessMetrics, TimeOfTheProcessorGoesOn) {
  const ProcessMetrics metrics;
  const double before = MetricsPage(metrics.Collect())["process_cpu_seconds_total"];
  const std::clock_t start = std::clock();
  while (std::clock() - start < CLOCKS_PER_SEC / 20) {
  }
  const double used = MetricsPage(metrics.Collect())["process_cpu_seconds_total"] - before;
  EXPECT_GE(used, 0.04);
  EXPECT_LT(used, 30);
}

TEST(ProcessMetrics, ItBeganBeforeNowAndNotLongAgo) {
  const ProcessMetrics metrics;
  const double now = absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
  const double start = MetricsPage(metrics.Collect())["process_start_time_seconds"];
  EXPECT_LE(start, now + 0.1);
  EXPECT_GT(start, now - 600) << "this test has a timeout of less";
  EXPECT_EQ(MetricsPage(metrics.Collect())["process_start_time_seconds"], start) << "it does not drift";
}

TEST(ProcessMetrics, MemoryIsInBytes) {
  const ProcessMetrics metrics;
  const auto resident = [&] { return MetricsPage(metrics.Collect())["process_resident_memory_bytes"]; };
  const double before = resident();
  constexpr size_t kBytes = 64 << 20;
  // From the kernel itself: a compiler may leave out memory that nobody reads.
  void* const touched =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  ASSERT_NE(touched, MAP_FAILED);
  EXPECT_GT(resident() - before, 0.9 * kBytes);
  EXPECT_GT(MetricsPage(metrics.Collect())["process_virtual_memory_bytes"], resident());
  munmap(touched, kBytes);
}

}  // namespace
}  // namespace ringd::server
