// The controller of a study without trainings: study_bench FOLDER TRIALS SEARCH SCHEDULER. Trials are functions of one
// parameter with 9 reports; prints a JSON line after every 1000 trials: seconds since the last one, those of them that the
// stand-in for the training took (it writes the logs that a run would), and the memory of the process. Run by
// study_overhead.py.
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "core/clock.h"
#include "core/files.h"
#include "study/controller/controller.h"
#include "support/function_executor.h"

namespace tessera {
namespace {

double resident_mb() {
  std::ifstream file("/proc/self/statm");
  double all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

double value(const FunctionExecutor::Values& values, int64_t epoch) {
  const double away = std::log10(values.at("optimizer.lr")) + 2;
  return 1 / (1 + away * away) * (1 - std::exp(-static_cast<double>(epoch)));
}

class TimedExecutor final : public Executor {
 public:
  TimedExecutor() { inner_.remembers = false; }  // the memory to be measured is the controller's

  void start(const Job& job) override {
    const double begin = monotonic_s();
    inner_.start(job);
    seconds += monotonic_s() - begin;
  }
  JobStatus poll(const Job& job) override { return inner_.poll(job); }
  void stop(const Job& job) override { inner_.stop(job); }
  std::optional<int> most_at_once(const Job& job) const override { return inner_.most_at_once(job); }

  double seconds = 0;

 private:
  FunctionExecutor inner_{value, 9};
};

void run(const fs::path& folder, int64_t trials, const std::string& search, const std::string& scheduler) {
  make_folders(folder);
  write_file(folder / "base.yaml", std::string_view("train: {duration: 9ep}\ndata: {type: synthetic}\n"));
  StudyRequest request;
  request.file = folder / "base.yaml";
  request.vary = {"optimizer.lr=log:1e-4:1", "optimizer.momentum=uniform:0.5:0.99"};
  request.settings = {"name=s", "folder='" + (folder / "study").string() + "'", "search=" + search, "scheduler=" + scheduler,
                      fmt::format("budget.trials={}", trials)};
  const StudyPlan plan = read_study(request);
  StudyStore store = StudyStore::create(plan.folder / kStudyStore, {"s", plan.objectives, {}}, plan.space);
  TimedExecutor executor;
  double last = monotonic_s(), trainings = 0;
  int64_t next = 1000;
  const auto show = [&](const StudyView& view) {
    if (view.counts.all < next) return;
    next += 1000;
    fmt::print("{{\"trials\": {}, \"seconds\": {:.4f}, \"trainings\": {:.4f}, \"memory_mb\": {:.1f}}}\n", view.counts.all,
               monotonic_s() - last, executor.seconds - trainings, resident_mb());
    std::fflush(stdout);
    last = monotonic_s();
    trainings = executor.seconds;
  };
  ControllerOptions options;
  options.machine.cores = 1;
  options.show = show;
  options.chatty = false;
  options.pause_s = 0;
  Controller(plan, store, executor, options).run();
}

}  // namespace
}  // namespace tessera

int main(int count, char** words) {
  if (count != 5) {
    fmt::print(stderr, "usage: study_bench FOLDER TRIALS SEARCH SCHEDULER\n");
    return 2;
  }
  tessera::run(words[1], std::stoll(words[2]), words[3], words[4]);
  return 0;
}
