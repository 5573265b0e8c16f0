// The controller of a study without trainings: study_bench FOLDER TRIALS SEARCH SCHEDULER. Trials are functions of one
// parameter with 9 reports; prints a JSON line after every 1000 trials: seconds and CPU seconds since the last one, those of
// them that the stand-in for the training took (it writes the logs that a run would), and the memory of the process. Run by
// study_overhead.py.
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <ctime>
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

struct Spent {
  double seconds = 0, cpu = 0;
  Spent operator-(const Spent& other) const { return {seconds - other.seconds, cpu - other.cpu}; }
  Spent operator+(const Spent& other) const { return {seconds + other.seconds, cpu + other.cpu}; }
};

Spent now() {
  return {monotonic_s(), static_cast<double>(std::clock()) / CLOCKS_PER_SEC};
}

double value(const FunctionExecutor::Values& values, int64_t epoch) {
  const double away = std::log10(values.at("optimizer.lr")) + 2;
  return 1 / (1 + away * away) * (1 - std::exp(-static_cast<double>(epoch)));
}

class TimedExecutor final : public Executor {
 public:
  TimedExecutor() { inner_.remembers = false; }  // the memory to be measured is the controller's

  void start(const Job& job) override {
    const Spent begin = now();
    inner_.start(job);
    spent = spent + (now() - begin);
  }
  JobStatus poll(const Job& job) override { return inner_.poll(job); }
  void stop(const Job& job) override { inner_.stop(job); }
  std::optional<int> most_at_once(const Job& job) const override { return inner_.most_at_once(job); }

  Spent spent;

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
  Spent last = now(), trainings;
  int64_t next = 1000;
  const auto show = [&](const StudyView& view) {
    if (view.counts.all < next) return;
    next += 1000;
    const Spent all = now() - last, stand_in = executor.spent - trainings;
    fmt::print(
        "{{\"trials\": {}, \"seconds\": {:.4f}, \"cpu\": {:.4f}, \"trainings\": {:.4f}, \"trainings_cpu\": {:.4f}, "
        "\"memory_mb\": {:.1f}}}\n",
        view.counts.all, all.seconds, all.cpu, stand_in.seconds, stand_in.cpu, resident_mb());
    std::fflush(stdout);
    last = now();
    trainings = executor.spent;
  };
  ControllerOptions options;
  options.machine.cores = 1;
  options.show = show;
  options.chatty = false;
  options.pause_s = 0;
  Controller(plan, store, executor, std::move(options)).run();
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
