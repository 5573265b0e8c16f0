#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "apps/command.h"
#include "core/files.h"
#include "data/datasets/dataset_factory.h"
#include "data/loader.h"
#include "data/transforms/make_pipeline.h"
#include "tensor/device.h"
#include "train/environment.h"
#include "train/model_state.h"
#include "train/train_step.h"

namespace tessera {
namespace {

struct BenchArguments {
  ConfigArguments config;
  int64_t steps = 30, warmup = 5;
  std::string dump;
};

Batch first_batch(const Experiment& experiment) {
  const DatasetPtr data = make_dataset(experiment.data, Split::kTrain);
  const Pipeline pipeline = make_pipeline(experiment.data, Split::kTrain);
  Quarantine quarantine(data->size(), experiment.data.max_bad_share);
  return Loader(*data, pipeline, quarantine,
                {.batch_size = experiment.train.batch_size, .seed = static_cast<uint64_t>(experiment.train.seed)}, 0)
      .next();
}

void synchronize(at::Device device) {
  if (device.is_cuda()) cuda_plugin()->synchronize(device.index());
}

// Times optimizer steps on one fixed batch: the work of a step without the loader.
void bench_step(const BenchArguments& arguments) {
  const Experiment experiment = arguments.config.load();
  const at::Device device = pick_device(experiment.train.device);
  if (experiment.train.threads > 0) at::set_num_threads(static_cast<int>(experiment.train.threads));
  const DatasetPtr data = make_dataset(experiment.data, Split::kTrain);
  const int num_classes = data->classes().size();
  const Batch batch = first_batch(experiment);
  const ModelPtr model = make_model(experiment.model, {experiment.data.channels, logit_channels(experiment.loss, num_classes)},
                                    static_cast<uint64_t>(experiment.train.seed));
  TrainStep step(experiment, model, num_classes, device);
  if (!arguments.dump.empty()) {  // for a peer to start from the same weights and data
    NamedTensors tensors = model_state(*model);
    tensors.emplace_back("batch.images", batch.images);
    tensors.emplace_back("batch.labels", batch.labels);
    write_file(arguments.dump, encode_safetensors(tensors));
  }
  std::vector<double> milliseconds, losses;
  for (int64_t i = 0; i < arguments.warmup + arguments.steps; ++i) {
    synchronize(device);
    const auto begin = std::chrono::steady_clock::now();
    const StepResult result = step.run(batch, i, arguments.warmup + arguments.steps, data->size());
    synchronize(device);
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    if (i >= arguments.warmup) milliseconds.push_back(ms);
    losses.push_back(result.loss.item<double>());
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  const double median = milliseconds[milliseconds.size() / 2];
  fmt::print("{}\n", nlohmann::json{{"ms_median", median},
                                    {"ms_min", milliseconds.front()},
                                    {"images_per_s", 1000.0 * static_cast<double>(batch.size()) / median},
                                    {"parameters", count_parameters(*model)},
                                    {"losses", losses},
                                    {"environment", describe_environment()}}
                         .dump(2));
}

}  // namespace

void add_bench(CLI::App& app, int& exit_code) {
  exit_code = 0;
  auto arguments = std::make_shared<BenchArguments>();
  CLI::App* command = app.add_subcommand("bench", "measure");
  command->require_subcommand(1);
  CLI::App* step = command->add_subcommand("step", "time of a training step on one fixed batch, as JSON");
  arguments->config.add_to(*step);
  step->add_option("--steps", arguments->steps, "steps to time")->capture_default_str()->check(CLI::PositiveNumber);
  step->add_option("--warmup", arguments->warmup, "steps before")->capture_default_str()->check(CLI::NonNegativeNumber);
  step->add_option("--dump", arguments->dump, "write the initial weights and the batch to this safetensors file");
  step->callback([arguments] { bench_step(*arguments); });
}

}  // namespace tessera
