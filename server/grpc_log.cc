#include "server/grpc_log.h"

#include <string>
#include <utility>

#include "google/protobuf/stubs/logging.h"
#include "grpc/support/log.h"
#include "spdlog/spdlog.h"

namespace ringd::server {
namespace {

constexpr size_t kLines = 20;
constexpr std::chrono::minutes kPeriod{1};

void Log(gpr_log_func_args* line) {
  static LineBudget budget(kLines, kPeriod);
  if (line->severity != GPR_LOG_SEVERITY_ERROR) {
    spdlog::debug("grpc: {}", line->message);
    return;
  }
  const LineBudget::Answer answer = budget.Take(LineBudget::Clock::now());
  if (answer.left_out > 0) spdlog::warn("grpc: {} lines were left out", answer.left_out);
  if (answer.allowed) spdlog::warn("grpc: {}", line->message);
}

void LogOfProtobuf(google::protobuf::LogLevel level, const char*, int, const std::string& message) {
  const bool ends = level == google::protobuf::LOGLEVEL_FATAL;  // it aborts next
  spdlog::log(ends ? spdlog::level::critical : spdlog::level::debug, "protobuf: {}", message);
}

}  // namespace

LineBudget::Answer LineBudget::Take(Clock::time_point now) {
  MutexLock lock(mutex_);
  if (now >= end_) {
    end_ = now + period_;
    left_ = lines_;
  }
  if (left_ == 0) {
    left_out_++;
    return {.allowed = false, .left_out = 0};
  }
  left_--;
  return {.allowed = true, .left_out = std::exchange(left_out_, 0)};
}

void TakeLogsOfGrpcAndProtobuf() {
  gpr_set_log_function(Log);
  google::protobuf::SetLogHandler(LogOfProtobuf);
}

}  // namespace ringd::server
