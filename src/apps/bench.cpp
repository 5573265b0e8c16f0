
#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "apps/bench_model.h"
#include "apps/bench_turns.h"
#include "apps/ranks.h"
#include "core/cpu_budget.h"
#include "core/files.h"
#include "core/json_text.h"
#include "data/batch/loader.h"
#include "data/datasets/dataset_factory.h"
#include "data/transforms/make_pipeline.h"
#include "infer/auto_precision.h"
#include "infer/checkpoint/model_state.h"
#include "infer/environment.h"
#include "infer/torch_settings.h"
#include "tensor/device.h"
#include "train/class_weights.h"
#include "train/op_costs.h"
#include "train/profile.h"
#include "train/train_step.h"

namespace tessera {
namespace {

struct BenchArguments {
  BenchModel model;
  RankArguments ranks;
  int64_t steps = 30, warmup = 5;
  BenchTurns turns;
  std::string dump, trace;
  bool profile = false, flops = false;
};

// The part of the first batch of a run that lies at these positions.
Batch first_batch(const Experiment& experiment, const Dataset& data, const std::vector<int64_t>& positions,
                  const World& world) {
  const Pipeline pipeline = make_pipeline(experiment.data, Split::kTrain);
  Quarantine quarantine(data.size(), experiment.data.max_bad_share);
  return Loader(data, pipeline, quarantine,
                {.batch_size = experiment.train.batch_size,
                 .seed = experiment.train.seed,
                 .positions = positions,
                 .mix = {experiment.train.mixup, experiment.train.cutmix},
                 .threads = loader_threads(experiment.data.threads, world.spec.local_world_size)},
                0)
      .next();
}

// How the exchange of gradients went in a step, over all of them.
struct ExchangeTimes {
  std::vector<double> exchange_ms, wait_ms;
  int64_t bytes = 0;

  void add(const GradientReducer& reducer) {
    exchange_ms.push_back(1e3 * reducer.exchanging());
    wait_ms.push_back(1e3 * reducer.waited());
    bytes = 0;
    for (const BucketTimes& bucket : reducer.times()) bytes += bucket.bytes;
  }
  nlohmann::json json() const {
    const double exchange = median_of(exchange_ms), wait = median_of(wait_ms);
    return {{"exchange_ms", exchange},
            {"wait_ms", wait},
            {"hidden_share", exchange > 0 ? std::max(0.0, 1 - wait / exchange) : 0.0},
            {"gradient_bytes", bytes}};
  }
};

// How many steps are timed together. A GPU is waited for now and then only, as a training run would not wait at all; and steps
// of SAM come with the others that it leaves as they are.
int64_t timed_together(const Experiment& experiment, at::Device device) {
  const int64_t few = device.is_cuda() ? 5 : 1, interval = experiment.train.sam.enabled() ? experiment.train.sam.interval : 1;
  return (few + interval - 1) / interval * interval;
}

// Times optimizer steps on one fixed batch: the work of a step without the loader.
void bench_step(const BenchArguments& arguments, Experiment experiment, World& world, const std::string& device_name) {
  const at::Device device = pick_device(device_name);
  experiment.train.precision = pick_precision(experiment.train.precision, device);
  const TorchSettings settings(experiment.train, device);
  const DatasetPtr data = make_dataset(experiment.data, Split::kTrain);
  const int num_classes = data->classes().size();
  const ModelPtr model = make_model(experiment, num_classes);
  take_equal_weights(experiment.loss, num_classes);
  TrainStep step(experiment, model, num_classes, device, world, {.sharded = arguments.ranks.sharded()});
  Batch batch = first_batch(experiment, *data, step.slice().positions, world);
  batch.images = batch.images.to(device);
  batch.labels = batch.labels.to(device);
  if (!arguments.dump.empty() && world.is_first()) {  // for a peer to start from the same weights and data
    const Batch whole = first_batch(experiment, *data, {}, world);
    NamedTensors tensors = model_state(*model);
    tensors.emplace_back("batch.images", whole.images);
    tensors.emplace_back("batch.labels", whole.labels);
    write_file(arguments.dump, encode_safetensors(tensors));
  }
  std::vector<double> milliseconds, losses;
  std::vector<at::Tensor> shares;  // of the losses
  ExchangeTimes exchange;
  const int64_t batch_size = experiment.train.batch_size, steps_per_epoch = (data->size() + batch_size - 1) / batch_size;
  const int64_t warm = arguments.warmup, all = warm + arguments.turns.count() * arguments.steps,
                group = timed_together(experiment, device);
  for (int64_t i = 0, next_turn = warm; i < all;) {
    if (i == next_turn) {
      if (world.is_first()) arguments.turns.wait();
      next_turn += arguments.steps;
    }
    world.control.barrier();
    synchronize(device);
    if (i == warm) peak_memory(device);
    const int64_t first = i, end = std::min(i + group, next_turn);
    const auto begin = std::chrono::steady_clock::now();
    for (; i < end; ++i) shares.push_back(step.run(batch, {i, all, steps_per_epoch}).loss);
    synchronize(device);
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    if (first < warm) continue;
    milliseconds.push_back(ms / static_cast<double>(end - first));
    if (step.reducer() != nullptr) exchange.add(*step.reducer());
  }
  const int64_t peak = peak_memory(device);  // before profiling, which frees what was recorded
  for (const at::Tensor& share : shares) losses.push_back(share.item<double>());
  constexpr int64_t kProfiled = 3;
  std::vector<OpTime> ops;
  std::vector<OpCosts> least;
  double flops = 0;
  if (arguments.profile || !arguments.trace.empty()) {
    step.stop_recording();  // so that each kernel is seen with the operation it is of
    ops = profile(
        device,
        [&] {
          for (int64_t i = 0; i < kProfiled; ++i) step.run(batch, {all + i, all + kProfiled, steps_per_epoch});
        },
        arguments.trace);
  }
  if (arguments.flops) {
    step.stop_recording();
    for (const OpCosts& op : op_costs([&] { step.run(batch, {all + kProfiled, all + kProfiled, steps_per_epoch}); }))
      flops += op.flops;
    at::Tensor all_flops = at::scalar_tensor(flops, at::kDouble);
    world.control.sum(all_flops);
    flops = all_flops.item<double>();
  }
  if (arguments.profile) least = op_costs([&] { step.run(batch, {all + kProfiled, all + kProfiled, steps_per_epoch}); });
  if (!world.is_first()) return;
  const double median = median_of(milliseconds),
               mean = std::accumulate(milliseconds.begin(), milliseconds.end(), 0.0) / static_cast<double>(milliseconds.size());
  double squares = 0;
  for (const double ms : milliseconds) squares += (ms - mean) * (ms - mean);
  nlohmann::json result{{"ms_median", median},
                        {"ms_of_turns", arguments.turns.medians(milliseconds)},
                        {"ms_min", *std::min_element(milliseconds.begin(), milliseconds.end())},
                        {"ms_mean", mean},
                        {"ms_sd", std::sqrt(squares / static_cast<double>(milliseconds.size()))},
                        {"batch_size", batch_size},
                        {"images_per_s", 1000.0 * static_cast<double>(batch_size) / median},
                        {"parameters", count_parameters(*model)},
                        {"peak_memory_bytes", peak},
                        {"precision", name_of(experiment.train.precision)},
                        {"micro_batch", step.micro_batch()},
                        {"ranks", world.size()},
                        {"losses", losses},
                        {"environment", describe_environment()}};
  if (arguments.flops) result["flops"] = flops;
  if (!world.alone()) result["exchange"] = exchange.json();
  if (arguments.profile) {
    result["profile"] = profile_json(ops, kProfiled);
    for (const OpCosts& op : least) result["least"].push_back({{"name", op.name}, {"flops", op.flops}, {"bytes", op.bytes}});
  }
  fmt::print("{}\n", json_text(result, 2));
}

}  // namespace

void add_bench(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<BenchArguments>();
  CLI::App* command = app.add_subcommand("bench", "measure");
  command->require_subcommand(1);
  CLI::App* step = command->add_subcommand("step", "time of a training step on one fixed batch, as JSON");
  arguments->model.add_to(*step);
  step->add_option("--steps", arguments->steps, "steps to time")->capture_default_str()->check(above_zero());
  step->add_option("--warmup", arguments->warmup, "steps before")->capture_default_str()->check(zero_or_more());
  step->add_option("--dump", arguments->dump, "write the initial weights and the batch to this safetensors file");
  step->add_flag("--profile", arguments->profile, "also where the time of a step goes: kernels of a GPU, operations on a CPU");
  step->add_flag(
      "--flops", arguments->flops,
      "also count a step's FLOPs over all ranks: of convolutions, matrix products and attention, those computed again for "
      "checkpointing among them");
  step->add_option("--trace", arguments->trace,
                   "write the timeline of three steps to this file, for Perfetto or chrome://tracing");
  arguments->turns.add_to(*step);
  arguments->ranks.add_to(*step);
  step->callback([arguments] {
    const Experiment experiment = arguments->model.experiment();
    run_on_ranks(arguments->ranks, experiment, identity_of(experiment),
                 [&](World& world, const std::string& device) { bench_step(*arguments, experiment, world, device); });
  });
  add_bench_eval(*command);
  add_bench_load(*command);
  add_bench_data(*command);
  add_bench_suite(*command, exit_code);
}

}  // namespace tessera
