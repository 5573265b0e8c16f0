#include <fmt/ranges.h>

#include <optional>

#include "apps/command.h"
#include "apps/ranks.h"
#include "core/error.h"
#include "core/printable.h"
#include "infer/eval_metrics.h"
#include "nn/model.h"
#include "train/run.h"

namespace tessera {
namespace {

struct TrainArguments {
  ConfigArguments config;
  RankArguments ranks;
  std::string model, timeline, stop_at;
  bool resume = false, dry_run = false, autotune = false, allow_missing = false;

  Experiment load() const {
    std::vector<std::string> overrides = config.overrides();
    if (!model.empty()) overrides.push_back("model.name=" + model);
    if (allow_missing) overrides.emplace_back("model.allow_missing=true");
    return load_experiment(config.file(), overrides);
  }
  std::optional<Duration> stop() const { return stop_at.empty() ? std::nullopt : std::optional(Duration::parse(stop_at)); }
};

// A word that is no length of training is refused like any other wrong option.
CLI::Validator duration_check() {
  const auto complaint = [](const std::string& text) -> std::string {
    try {
      Duration::parse(text);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  return {complaint, "DURATION"};
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
      ->check(duration_check());
  command->add_flag("--dry-run", arguments->dry_run, "check config, data and disk, build the model, then stop");
  command->add_flag("--autotune-comm", arguments->autotune,
                    "several ranks: measure bucket sizes and compression of the gradients first and take the fastest");
  command->add_option("--timeline", arguments->timeline,
                      "write what every rank computed, reduced and waited for as a Chrome trace to this file");
  command->footer([] { return config_help(); });
  command->callback([arguments, &exit_code] {
    const Experiment experiment = arguments->load();
    if (arguments->dry_run) {
      World alone;
      const NewFolders unused(run_folder(experiment));
      const Trainer trainer(experiment, {.resume = arguments->resume}, alone);
      fmt::print("{}\n{} parameters; everything needed to start is there\n", experiment_yaml(experiment),
                 trainer.num_parameters());
      return;
    }
    arguments->ranks.logs_in = run_folder(experiment);
    arguments->ranks.log_access = run_access(experiment.run, arguments->ranks.logs_in);
    run_on_ranks(arguments->ranks, experiment, identity_of(experiment), [&](World& world, const std::string& device) {
      const RunResult result = run_training(experiment,
                                            {.resume = arguments->resume,
                                             .device = device,
                                             .sharded = arguments->ranks.sharded(),
                                             .autotune_exchange = arguments->autotune,
                                             .timeline = arguments->timeline,
                                             .stop_at = arguments->stop()},
                                            world);
      if (!world.is_first()) return;
      if (result.signal != 0) {
        exit_code = 128 + result.signal;  // the terminal may be gone
      } else {
        print_result(result, experiment, result.classes);
      }
    });
  });
}

}  // namespace tessera
