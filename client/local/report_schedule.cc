#include "client/local/report_schedule.h"

#include <utility>

namespace ringd {

void ReportSchedule::InSync(uint64_t stream, ring::Version version, Clock::time_point now) {
  if (version != version_) applied_at_ = now;
  if (stream != stream_) not_taken_ = false;
  const bool news = stream != stream_ || version != version_;
  stream_ = stream;
  version_ = version;
  if (news && due_ == Clock::time_point::max()) SetDue(now, kSpread);
}

ReportSchedule::Clock::time_point ReportSchedule::due() const {
  return stream_ == 0 || asked_ != 0 || not_taken_ ? Clock::time_point::max() : due_;
}

void ReportSchedule::Sent() {
  asked_ = stream_;
  due_ = Clock::time_point::max();
}

void ReportSchedule::Answered(Outcome outcome, Clock::time_point now) {
  if (std::exchange(asked_, 0) != stream_) return;  // the next stream is told anew
  not_taken_ |= outcome == Outcome::kNotTaken;
  if (outcome == Outcome::kFailed) SetDue(now, kAfterFailure);
}

void ReportSchedule::SetDue(Clock::time_point now, std::chrono::milliseconds spread) {
  const std::chrono::duration<double, std::milli> pause = spread * random_();
  due_ = now + std::chrono::duration_cast<Clock::duration>(pause);
}

}  // namespace ringd
