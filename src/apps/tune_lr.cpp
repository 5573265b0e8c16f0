#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/command.h"
#include "apps/output_file.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/new_file.h"
#include "core/printable.h"
#include "core/signals.h"
#include "report/lr_range_page.h"
#include "study/lr_range.h"
#include "train/run.h"

namespace tessera {
namespace {

struct LrArguments {
  ConfigArguments config;
  LrSweep sweep;
  std::string device, output = "lr.html";
  bool json = false;
};

// Collects the losses and ends the run where the test ends.
class LrRangeHook final : public Hook {
 public:
  explicit LrRangeHook(const LrSweep& sweep) : test_(sweep) {}

  void on_log(const LogLine& line) override { test_.add(line.loss); }
  void on_warning(int64_t /*step*/, const std::string& text) override { log_warn("{}", text); }
  std::string wants_stop() const override { return test_.ended() ? "the range test" : ""; }

  const LrRangeTest& test() const { return test_; }

 private:
  LrRangeTest test_;
};

// Gone when the test ends: its weights are of no use.
class PassingFolder {
 public:
  PassingFolder() : path_(make_new_folder(fs::temp_directory_path(), "tessera-lr-", Access::kPrivate)) {}
  ~PassingFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  PassingFolder(const PassingFolder&) = delete;
  PassingFolder& operator=(const PassingFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// The test is an ordinary run, whose step schedule multiplies the rate after every step. The run is one step longer than the
// test, so that it never comes to its end, which would be evaluated.
std::vector<std::string> overrides_of_test(const LrSweep& sweep, const fs::path& folder) {
  std::string milestones;
  for (int64_t step = 1; step <= sweep.steps; ++step) milestones += fmt::format("{}{}ba", step == 1 ? "" : ",", step);
  return {fmt::format("optimizer.lr={}", sweep.low),
          "schedule.type=step",
          fmt::format("schedule.gamma={}", sweep.factor()),
          fmt::format("schedule.milestones=[{}]", milestones),
          "schedule.warmup=0ba",
          fmt::format("train.duration={}ba", sweep.steps + 1),
          "eval.every=0ep",
          "eval.weights=raw",
          "checkpoint.every=0ep",
          "checkpoint.early_stop=0",
          "run.log_every=1ba",
          "run.upload=null",
          "run.tensorboard=false",
          "run.pictures=0",
          fmt::format("run.dir={}", (folder / "run").string())};
}

// What the test found, or the signal that ended it early.
struct LrOutcome {
  LrRangeCurve curve;
  int signal = 0;
};

LrOutcome measured(const LrArguments& arguments) {
  const PassingFolder folder;
  std::vector<std::string> overrides = arguments.config.overrides();
  for (std::string& text : overrides_of_test(arguments.sweep, folder.path())) overrides.push_back(std::move(text));
  const Experiment experiment = load_experiment(arguments.config.file(), overrides);
  World alone;
  Hooks hooks;
  const LrRangeHook& hook = hooks.add(std::make_unique<LrRangeHook>(arguments.sweep));
  try {
    const RunResult result = run_training(experiment, {.device = arguments.device, .report = false}, alone, hooks);
    if (result.signal != 0) return {.curve = {}, .signal = result.signal};
  } catch (const Diverged&) {
    // Where it ends is what the test is for.
  }
  return {hook.test().result()};
}

nlohmann::json json_of(const LrRangeCurve& range) {
  nlohmann::json out{
      {"rates", range.rates}, {"losses", range.losses}, {"smoothed", range.smoothed}, {"diverged", range.diverged}};
  const auto found = [&](double rate) { return range.falls ? nlohmann::json(rate) : nlohmann::json(); };
  out.update({{"suggested", found(range.steepest)},
              {"steepest", found(range.steepest)},
              {"minimum", found(range.minimum)},
              {"tenth_of_minimum", found(range.tenth_of_minimum)}});
  return out;
}

void print_range(const LrRangeCurve& range, const std::string& output) {
  if (range.falls) {
    fmt::print("steepest           {:.2g}      suggested: optimizer.lr={:.2g}\n", range.steepest, range.steepest);
    fmt::print("minimum            {:.2g}\n", range.minimum);
    fmt::print("minimum / 10       {:.2g}\n", range.tenth_of_minimum);
  } else {
    fmt::print("the loss falls nowhere between {:.2g} and {:.2g}\n", range.rates.front(), range.rates.back());
  }
  fmt::print("curve              {}\n", printable(output));
}

int test_rates(const LrArguments& arguments) {
  const LrSweep& sweep = arguments.sweep;
  TSR_CHECK_USAGE(!arguments.config.file().empty() || !arguments.config.overrides().empty(),
                  "what is to be trained? expected a config: tessera tune lr demo");
  TSR_CHECK_USAGE(sweep.low > 0 && sweep.high > sweep.low && std::isfinite(sweep.high),
                  "--low {} and --high {}: expected two rates above 0, the higher one second", sweep.low, sweep.high);
  const bool as_svg = fs::path(arguments.output).extension() == ".svg";
  TSR_CHECK_USAGE(as_svg || fs::path(arguments.output).extension() == ".html",
                  "--output {}: expected a name ending in .html or .svg", arguments.output);
  check_output_file(arguments.output);
  const auto [range, signal] = measured(arguments);
  if (signal != 0) {
    log_warn("the range test was stopped before its end; nothing is written");
    return exit_code_of(signal);
  }
  TSR_CHECK(range.rates.size() >= 2,
            "the loss is no number from the first step on; look at the data with `tessera data check`");
  const LrRangeFigures figures{.config = arguments.config.file().filename().string(),
                               .rates = range.rates,
                               .losses = range.losses,
                               .smoothed = range.smoothed,
                               .diverged = range.diverged,
                               .falls = range.falls,
                               .steepest = range.steepest,
                               .minimum = range.minimum,
                               .tenth_of_minimum = range.tenth_of_minimum};
  write_file(arguments.output, as_svg ? lr_range_svg(figures) : render_lr_range_page(figures));
  if (arguments.json) {
    fmt::print("{}\n", json_of(range).dump());
  } else {
    print_range(range, arguments.output);
  }
  return 0;
}

}  // namespace

void add_tune_lr(CLI::App& tune, int& exit_code) {
  auto arguments = std::make_shared<LrArguments>();
  CLI::App* command = tune.add_subcommand(
      "lr", "learning-rate range test: one step at each of many rates, the loss as a curve, and a rate that follows from it");
  arguments->config.add_to(*command);
  command->add_option("--low", arguments->sweep.low, "the first rate")->capture_default_str();
  command->add_option("--high", arguments->sweep.high, "the last rate, unless the loss explodes before")->capture_default_str();
  command->add_option("--steps", arguments->sweep.steps, "rates between them, a training step each")
      ->capture_default_str()
      ->check(CLI::Range(10, 100000));
  command->add_option("-d,--device", arguments->device, "cpu, cuda, cuda:1, ...; else train.device");
  command->add_option("-o,--output", arguments->output, "the curve: NAME.html, or NAME.svg")->capture_default_str();
  command->add_flag("--json", arguments->json, "print rates, losses and suggestions as JSON");
  command->footer("Weights are not kept. Data, model, optimizer and batch are those of the config; its schedule is not used.");
  command->callback([arguments, &exit_code] { exit_code = test_rates(*arguments); });
}

}  // namespace tessera
