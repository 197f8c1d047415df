#include "client/local/run_loop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "tests/support/shared.h"

namespace ringd {
namespace {

using Clock = RunLoop::Clock;
constexpr auto kNever = Clock::time_point::max();

class FunctionTask final : public RunLoop::Task {
 public:
  explicit FunctionTask(std::function<Clock::time_point()> run) : run_(std::move(run)) {}
  Clock::time_point Run() override { return run_(); }

 private:
  const std::function<Clock::time_point()> run_;
};

std::shared_ptr<FunctionTask> TaskOf(std::function<Clock::time_point()> run) {
  return std::make_shared<FunctionTask>(std::move(run));
}

class RunLoopTest : public testing::Test {
 protected:
  void Count() {
    runs_.Update([](int& runs) { runs++; });
  }
  void AwaitRuns(int count) {
    runs_.Await([count](int runs) { return runs >= count; });
  }

  support::Shared<int> runs_;
  RunLoop loop_{2};
};

TEST_F(RunLoopTest, RunsWhatIsWoken) {
  const auto task = TaskOf([this] { return Count(), kNever; });
  loop_.Wake(task);
  AwaitRuns(1);
  loop_.Remove(task);
  EXPECT_EQ(runs_.Get(), 1);
}

TEST_F(RunLoopTest, RunsAgainAtTheTimeThatWasAskedFor) {
  std::atomic<Clock::time_point> wanted{Clock::time_point()};
  std::atomic<bool> early = false;
  const auto task = TaskOf([&] {
    early = early || Clock::now() < wanted.load();
    Count();
    wanted = Clock::now() + std::chrono::milliseconds(5);
    return runs_.Get() < 4 ? wanted.load() : kNever;
  });
  loop_.Wake(task);
  AwaitRuns(4);
  loop_.Remove(task);
  EXPECT_FALSE(early);
  EXPECT_EQ(runs_.Get(), 4);
}

TEST_F(RunLoopTest, AWakeTakesThePlaceOfATimeAndRemoveEndsIt) {
  const Clock::time_point due = Clock::now() + std::chrono::milliseconds(20);
  const auto woken = TaskOf([&] { return Count(), runs_.Get() == 1 ? due : kNever; });
  loop_.Wake(woken);
  AwaitRuns(1);
  loop_.Wake(woken);
  AwaitRuns(2);
  const bool was_in_time = Clock::now() < due;
  support::Shared<int> removed_runs;
  const auto removed = TaskOf([&] { return removed_runs.Update([](int& runs) { runs++; }), due; });
  loop_.Wake(removed);
  removed_runs.Await([](int runs) { return runs > 0; });
  loop_.Remove(removed);
  const int runs_before = removed_runs.Get();

  // Times come in order, so that the others would have come by then.
  support::Shared<int> later_runs;
  const auto later = TaskOf([&] {
    later_runs.Update([](int& runs) { runs++; });
    return later_runs.Get() == 1 ? due + std::chrono::milliseconds(1) : kNever;
  });
  loop_.Wake(later);
  later_runs.Await([](int runs) { return runs == 2; });
  loop_.Remove(woken);
  loop_.Remove(later);
  if (was_in_time) {
    EXPECT_EQ(runs_.Get(), 2);
  }
  EXPECT_EQ(removed_runs.Get(), runs_before);
}

TEST_F(RunLoopTest, WhatIsWokenWhileItRunsIsRunOnceMore) {
  std::shared_ptr<FunctionTask> task;
  task = TaskOf([&] {
    Count();
    if (runs_.Get() == 1) {
      for (int i = 0; i < 3; ++i) loop_.Wake(task);
    }
    return kNever;
  });
  loop_.Wake(task);
  AwaitRuns(2);
  loop_.Remove(task);
  EXPECT_EQ(runs_.Get(), 2);
}

TEST_F(RunLoopTest, NothingRunsTwiceAtOnce) {
  constexpr int kTasks = 5;
  std::vector<std::atomic<int>> inside(kTasks);
  std::atomic<bool> twice = false;
  std::vector<std::shared_ptr<FunctionTask>> tasks;
  for (int i = 0; i < kTasks; ++i) {
    tasks.push_back(TaskOf([&, i] {
      twice = twice || inside[i]++ > 0;
      Count();
      std::this_thread::yield();
      inside[i]--;
      return kNever;
    }));
  }
  {
    std::vector<std::jthread> wakers;
    for (int i = 0; i < 3; ++i) {
      wakers.emplace_back([&] {
        for (int round = 0; round < 2'000; ++round) loop_.Wake(tasks[round % kTasks]);
      });
    }
  }
  AwaitRuns(kTasks);
  for (const auto& task : tasks) loop_.Remove(task);
  EXPECT_FALSE(twice);
}

TEST_F(RunLoopTest, RemoveWaitsForARunUnderWay) {
  support::Shared<bool> inside;
  support::Shared<bool> go;
  std::atomic<bool> ended = false;
  const auto task = TaskOf([&] {
    inside.Update([](bool& value) { value = true; });
    go.Await([](bool value) { return value; });
    ended = true;
    return kNever;
  });
  loop_.Wake(task);
  inside.Await([](bool value) { return value; });
  std::jthread later([&] { go.Update([](bool& value) { value = true; }); });
  loop_.Remove(task);
  EXPECT_TRUE(ended);
}

TEST_F(RunLoopTest, ATaskMayTakeItselfOut) {
  std::shared_ptr<FunctionTask> task;
  task = TaskOf([&] {
    loop_.Remove(task);
    loop_.Wake(task);  // not any more
    Count();
    return Clock::now();
  });
  loop_.Wake(task);
  AwaitRuns(1);
  loop_.Remove(task);
  EXPECT_EQ(runs_.Get(), 1);
}

TEST_F(RunLoopTest, ATimeComesThoughThereIsAlwaysSomethingReady) {
  RunLoop loop(1);
  support::Shared<bool> ended;
  std::atomic<int> timed_runs = 0;
  const auto timed = TaskOf([&] { return ++timed_runs < 3 ? Clock::now() : kNever; });
  std::shared_ptr<FunctionTask> busy;
  busy = TaskOf([&, left = 10'000]() mutable {
    if (timed_runs < 3 && --left > 0) {
      loop.Wake(busy);
    } else {
      ended.Update([](bool& value) { value = true; });
    }
    return kNever;
  });
  loop.Wake(timed);
  loop.Wake(busy);
  ended.Await([](bool value) { return value; });
  EXPECT_EQ(timed_runs, 3);
  loop.Remove(busy);
  loop.Remove(timed);
}

TEST_F(RunLoopTest, WhatIsWokenAndWhoseTimeHasComeIsRunOnce) {
  RunLoop loop(1);
  support::Shared<bool> ended;
  int runs = 0;  // of the loop's thread
  const Clock::time_point due = Clock::now() + std::chrono::milliseconds(20);
  const auto last = TaskOf([&] { return ended.Update([](bool& value) { value = true; }), kNever; });
  std::shared_ptr<FunctionTask> task;
  const auto still = TaskOf([&] {
    loop.Wake(task);
    while (Clock::now() < due) std::this_thread::yield();
    return kNever;
  });
  task = TaskOf([&] {
    runs++;
    loop.Wake(runs == 1 ? still : last);
    return runs == 1 ? due : kNever;
  });
  loop.Wake(task);
  ended.Await([](bool value) { return value; });
  for (const auto& each : {task, still, last}) loop.Remove(each);
  EXPECT_EQ(runs, 2);
}

TEST_F(RunLoopTest, NothingIsHeldOfATaskThatWasRemoved) {
  for (int round = 0; round < 200; ++round) {
    auto task = TaskOf([this] { return Count(), kNever; });
    const std::weak_ptr<FunctionTask> weak = task;
    loop_.Wake(task);
    if (round % 2 == 0) AwaitRuns(round / 2 + 1);
    loop_.Remove(task);
    task.reset();
    EXPECT_TRUE(weak.expired());
    runs_.Update([round](int& runs) { runs = round / 2 + 1; });
  }
}

TEST_F(RunLoopTest, OneThatStandsStillLeavesTheOthersRunning) {
  support::Shared<bool> go;
  const auto still = TaskOf([&] {
    Count();
    go.Await([](bool value) { return value; });
    return kNever;
  });
  loop_.Wake(still);
  AwaitRuns(1);
  std::vector<std::shared_ptr<FunctionTask>> tasks;
  for (int i = 0; i < 1'000; ++i) {
    tasks.push_back(TaskOf([this] { return Count(), kNever; }));
    loop_.Wake(tasks.back());
  }
  AwaitRuns(1'001);
  for (const auto& task : tasks) loop_.Remove(task);
  go.Update([](bool& value) { value = true; });
  loop_.Remove(still);
}

}  // namespace
}  // namespace ringd
