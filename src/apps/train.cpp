#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "apps/auto_config.h"
#include "apps/command.h"
#include "apps/kept_data.h"
#include "apps/ranks.h"
#include "apps/requeue.h"
#include "config/data_places.h"
#include "config/used_lines.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/printable.h"
#include "core/signals.h"
#include "core/time_span.h"
#include "infer/eval_metrics.h"
#include "infer/trained_model.h"
#include "launch/cluster/rank_environment.h"
#include "nn/model.h"
#include "train/run.h"

namespace tessera {
namespace {

struct TrainArguments {
  ConfigArguments config;
  RankArguments ranks;
  std::string model, timeline, stop_at, from, time_limit;
  int64_t profile_steps = 0;
  bool requeue = false, resume = false, dry_run = false, all = false, autotune = false, allow_missing = false;

  Experiment load() const {
    std::vector<std::string> overrides = config.overrides();
    if (!model.empty()) overrides.push_back("model.name=" + model);
    if (allow_missing) overrides.emplace_back("model.allow_missing=true");
    if (!from.empty() && config.file().empty()) return load_as_before(overrides);
    if (asks_for_auto(overrides)) return load_automatic(overrides);
    return load_experiment(config.file(), overrides);
  }

  Experiment load_automatic(const std::vector<std::string>& overrides) const {
    const auto spec = rank_from_environment();
    const bool processes = ranks.parallel == "ddp" || ranks.parallel == "zero1" || (spec && spec->world_size > 1);
    if (processes || ranks.ranks > 1 || ranks.devices.find(',') != std::string::npos)
      fail_usage(
          "recipe=auto measures the device it is on, and ranks would not choose alike; write the choice down first, on one "
          "device: `tessera recipe auto ... -o auto.yaml`, then train with auto.yaml on as many as you like");
    return load_auto({.config = config.file().string(), .words = overrides}, resume);
  }

  // The config of the run that is gone on from, in another folder.
  Experiment load_as_before(std::vector<std::string> overrides) const {
    const bool placed = std::any_of(overrides.begin(), overrides.end(), [](const std::string& text) {
      return text.starts_with("run.name=") || text.starts_with("run.dir=");
    });
    if (!placed) fail_usage("--from {} goes on in a run of its own; say where: run.name=... or run.dir=...", from);
    overrides.insert(overrides.begin(), {"run.name=null", "run.dir=null"});
    return trained_experiment(from, overrides);
  }
  std::optional<double> end(double begin_s) const {
    return time_limit.empty() ? std::nullopt : std::optional(begin_s + parse_time_span(time_limit));
  }
  std::optional<Duration> stop() const { return stop_at.empty() ? std::nullopt : std::optional(Duration::parse(stop_at)); }
};

// A word that `parse` does not take is refused like any other wrong option.
template <class Parse>
CLI::Validator parse_check(const char* name, Parse parse) {
  const auto complaint = [parse](const std::string& text) -> std::string {
    try {
      parse(text);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  return {complaint, name};
}

void print_result(const RunResult& result, const Experiment& experiment, const ClassTable& classes) {
  constexpr size_t kClassesShown = 20;
  if (result.last_eval) {
    for (size_t c = 0; c < std::min(classes.names.size(), kClassesShown); ++c) {
      fmt::print("IoU {:<20} {:.4f}\n", printable(classes.names[c]), result.last_eval->report.classes[c].iou);
    }
    for (const auto& [name, value] : mean_metrics(*result.last_eval)) fmt::print("{:<24} {:.4f}\n", name, value);
  }
  if (result.state.best_value)
    fmt::print("best {:<19} {:.4f} at step {}\n", experiment.checkpoint.best_metric, *result.state.best_value,
               result.state.best_step);
  const std::filesystem::path report = run_folder(experiment) / "report.html";
  std::error_code error;
  if (std::filesystem::exists(report, error)) fmt::print("report                   {}\n", printable(report.string()));
}

void dry_run(const TrainArguments& arguments, Experiment experiment) {
  World alone;
  const NewFolders unused(run_folder(experiment));
  const Trainer trainer(experiment, {.resume = arguments.resume, .from = arguments.from}, alone);
  fmt::print("{}\n", to_yaml(arguments.all ? experiment_lines(experiment) : used_lines(experiment)));
  if (trainer.origin()) {
    fmt::print("goes on from {} at step {}\n", printable(trainer.origin()->checkpoint), trainer.origin()->step);
    for (const std::string& change : trainer.origin()->changes) fmt::print("  {}\n", printable(change));
  }
  fmt::print("{} parameters; everything needed to start is there\n", trainer.num_parameters());
}

}  // namespace

void add_train(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<TrainArguments>();
  CLI::App* command = app.add_subcommand("train", "train a model from a config");
  arguments->config.add_to(*command);
  arguments->ranks.add_to(*command);
  command->add_option("-m,--model", arguments->model, fmt::format("model: {}", fmt::join(model_names(), ", ")));
  command->add_flag("--allow-missing", arguments->allow_missing,
                    "start even if model.pretrained lacks weights outside the head");
  command->add_flag("--resume", arguments->resume,
                    "go on from the newest checkpoint of the run folder; starts anew if there is none");
  command
      ->add_option(
          "--stop-at", arguments->stop_at,
          "train up to here only (10ep, 500ba, 0.5dur), save and evaluate; the schedule stays that of train.duration, and "
          "--resume goes on as if it had not stopped")
      ->check(parse_check("DURATION", Duration::parse));
  command
      ->add_option("--from", arguments->from,
                   "go on from another run, or one of its checkpoints, in a new folder: weights, optimizer state, average and "
                   "step are its; length, rate, schedule, data and device may be others. Without CONFIG its config is taken")
      ->option_text("RUN");
  command
      ->add_option("--time-limit", arguments->time_limit,
                   "3h50m, 90m: save and leave before this much time has passed, with exit code 75; --resume goes on")
      ->check(parse_check("TIME", parse_time_span));
  command->add_flag(
      "--requeue", arguments->requeue,
      "in a job of Slurm: when the time is up, by --time-limit or by SIGUSR1 (#SBATCH --signal=USR1@120), put the "
      "job back into the queue; it goes on as with --resume");
  command->add_flag("--dry-run", arguments->dry_run,
                    "check config, data and disk, build the model, print the values that are used, then stop; nothing is left");
  command->add_flag("--all", arguments->all, "with --dry-run: print every value, also of other models and kinds of data");
  command->add_flag("--autotune-comm", arguments->autotune,
                    "several ranks: measure bucket sizes and compression of the gradients first and take the fastest");
  command
      ->add_option(
          "--profile", arguments->profile_steps,
          "record so many steps, after the first ones: where their time went, what to set, and a trace for Perfetto or "
          "TensorBoard are then in RUN/profile")
      ->check(above_zero())
      ->option_text("STEPS");
  command->add_option("--timeline", arguments->timeline,
                      "write what every rank computed, reduced and waited for as a Chrome trace to this file");
  command->footer([] { return config_help(); });
  command->callback([arguments, &exit_code] {
    const double begin_s = monotonic_s();
    if (arguments->requeue) check_requeue();
    arguments->resume = arguments->resume || arguments->requeue;
    Experiment experiment = arguments->load();
    // Ranks agree on what was typed: their folders need not lie in the same place.
    const Identity identity = identity_of(experiment);
    make_data_places_absolute(experiment);
    if (!arguments->from.empty()) check_origin_is_another(arguments->from, experiment);
    if (arguments->dry_run) return dry_run(*arguments, experiment);
    if (arguments->all) fail_usage("--all is for --dry-run");
    arguments->ranks.logs_in = run_folder(experiment);
    arguments->ranks.log_access = run_access(experiment.run, arguments->ranks.logs_in);
    const std::optional<RunData> data = kept_run_data(experiment);
    run_on_ranks(arguments->ranks, experiment, identity, [&](World& world, const std::string& device) {
      const RunResult result = run_training(experiment,
                                            {.resume = arguments->resume,
                                             .from = arguments->from,
                                             .device = device,
                                             .sharded = arguments->ranks.sharded(),
                                             .autotune_exchange = arguments->autotune,
                                             .timeline = arguments->timeline,
                                             .stop_at = arguments->stop(),
                                             .ends_at_s = arguments->end(begin_s),
                                             .profile_steps = arguments->profile_steps,
                                             .data = data},
                                            world);
      const bool again = result.end == RunEnd::kTimeLimit || (result.signal != 0 && exit_code_of(result.signal) == kExitAgain);
      if (again) exit_code = kExitAgain;
      if (!world.is_first()) return;
      if (again && arguments->requeue) requeue_job();
      if (result.signal != 0) {
        exit_code = exit_code_of(result.signal);  // the terminal may be gone
      } else {
        print_result(result, experiment, result.classes);
      }
    });
  });
}

}  // namespace tessera
