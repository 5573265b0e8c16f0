#include <fmt/ranges.h>

#include "apps/command.h"
#include "core/error.h"
#include "nn/model.h"
#include "train/run.h"

namespace tessera {
namespace {

struct TrainArguments {
  ConfigArguments config;
  std::string devices, parallel = "none", model;
  bool resume = false, dry_run = false;
};

// The flags are short names for config keys: they end up in config.yaml like everything else.
std::vector<std::string> flag_overrides(const TrainArguments& arguments) {
  std::vector<std::string> overrides = arguments.config.overrides();
  if (!arguments.model.empty()) overrides.push_back("model.name=" + arguments.model);
  if (!arguments.devices.empty()) {
    if (arguments.devices.find(',') != std::string::npos) {
      fail_usage("-d {}: several devices come with distributed training; give one, e.g. -d 0", arguments.devices);
    }
    overrides.push_back("train.device=" + (arguments.devices == "cpu" ? arguments.devices : "cuda:" + arguments.devices));
  }
  if (arguments.parallel != "none") {
    fail_usage("-p {} comes with distributed training, which this version does not have; use -p none", arguments.parallel);
  }
  return overrides;
}

void print_result(const RunResult& result, const Experiment& experiment, const ClassTable& classes) {
  constexpr size_t kClassesShown = 20;
  if (result.last_eval) {
    for (size_t c = 0; c < std::min(classes.names.size(), kClassesShown); ++c) {
      fmt::print("IoU {:<20} {:.4f}\n", classes.names[c], result.last_eval->report.classes[c].iou);
    }
    for (const auto& [name, value] : named_values(result.last_eval->report)) fmt::print("{:<24} {:.4f}\n", name, value);
  }
  if (result.state.best_step >= 0)
    fmt::print("best {:<19} {:.4f} at step {}\n", experiment.checkpoint.best_metric, result.state.best_value,
               result.state.best_step);
  fmt::print("report                   {}\n", (run_folder(experiment) / "report.html").string());
}

}  // namespace

void add_train(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<TrainArguments>();
  CLI::App* command = app.add_subcommand("train", "train a model from a config");
  arguments->config.add_to(*command);
  command->add_option("-d,--devices", arguments->devices, "GPU to use: 0; or cpu; default: train.device");
  command->add_option("-p,--parallel", arguments->parallel, "none, dp or ddp")->check(CLI::IsMember({"none", "dp", "ddp"}));
  command->add_option("-m,--model", arguments->model, fmt::format("model: {}", fmt::join(model_names(), ", ")));
  command->add_flag("--resume", arguments->resume,
                    "go on from the newest checkpoint of the run folder; starts anew if there is none");
  command->add_flag("--dry-run", arguments->dry_run, "check config, data and disk, build the model, then stop");
  command->footer([] { return config_help(); });
  command->callback([arguments, &exit_code] {
    const Experiment experiment = load_experiment(arguments->config.file(), flag_overrides(*arguments));
    if (arguments->dry_run) {
      const Trainer trainer(experiment, {run_folder(experiment), arguments->resume});
      fmt::print("{}\n{} parameters; everything needed to start is there\n", experiment_yaml(experiment),
                 trainer.num_parameters());
      return;
    }
    const RunResult result = run_training(experiment, arguments->resume);
    print_result(result, experiment, result.classes);
    if (result.signal != 0) exit_code = 128 + result.signal;
  });
}

}  // namespace tessera
