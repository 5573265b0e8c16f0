// `tessera bench eval`: images a second through the predictor and the confusion matrix, without reading files.
#include <ATen/ops/stack.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "apps/bench_model.h"
#include "apps/bench_turns.h"
#include "core/background.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_text.h"
#include "data/batch/image_tensor.h"
#include "data/datasets/dataset_factory.h"
#include "infer/auto_precision.h"
#include "infer/checkpoint/model_state.h"
#include "infer/environment.h"
#include "infer/overlapped_counter.h"
#include "infer/precision.h"
#include "infer/torch_settings.h"
#include "infer/trained_model.h"
#include "metric/confusion_matrix.h"
#include "tensor/device.h"
#include "tensor/download.h"
#include "train/profile.h"
#include "weights/formats/safetensors.h"

namespace tessera {
namespace {

struct EvalArguments {
  BenchModel model;
  int64_t rounds = 10, warmup = 3;
  BenchTurns turns;
  std::string dump;
  bool profile = false;
};

// Validation images of a fixed size, and their labels.
struct EvalBatch {
  std::vector<Image> images;
  std::vector<at::Tensor> labels;

  std::vector<const Image*> pointers() const {
    std::vector<const Image*> all;
    for (const Image& image : images) all.push_back(&image);
    return all;
  }
};

EvalBatch make_batch(const Experiment& experiment, const Dataset& data) {
  EvalBatch batch;
  for (int64_t i = 0; i < experiment.train.batch_size; ++i) {
    Sample sample = data.get(i % data.size());
    at::Tensor own = at::empty({sample.labels->height, sample.labels->width}, at::kShort);
    std::memcpy(own.mutable_data_ptr(), sample.labels->labels.data(), own.nbytes());
    batch.labels.push_back(own);
    batch.images.push_back(std::move(sample.image));
  }
  return batch;
}

// Where the time of a batch goes, and which side it waits for: ms_median near submit_ms is bound by sending work off, near
// device_ms by the work. submit_ms: until evaluate() returns on an idle device; device_ms: all kernels and copies.
void add_profile(nlohmann::json& result, at::Device device, const std::function<void()>& evaluate,
                 const std::function<void()>& wait) {
  std::vector<double> submit;
  for (int i = 0; i < 5; ++i) {
    wait();
    synchronize(device);
    const auto begin = std::chrono::steady_clock::now();
    evaluate();
    submit.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  wait();
  const std::vector<OpTime> ops = profile(device, evaluate);
  wait();
  int64_t launches = 0;
  double total = 0;
  for (const OpTime& op : ops) {
    launches += op.calls;
    total += op.ms;
  }
  result["submit_ms"] = median_of(submit);
  result["device_ms"] = total;
  result["launches"] = launches;
  result["profile"] = profile_json(ops, 1);
}

void bench_eval(const EvalArguments& arguments) {
  Experiment experiment = arguments.model.experiment();
  const at::Device device = pick_device(experiment.train.device);
  experiment.train.precision = pick_precision(experiment.train.precision, device);
  const TorchSettings settings(experiment.train, device);
  const DatasetPtr data = make_dataset(experiment.data, Split::kTrain);
  TSR_CHECK_USAGE(!data->classes().multi_label, "bench eval counts one class at each pixel; data.labels.multi is not for it");
  const int num_classes = data->classes().size();
  const ModelPtr model = make_model(experiment, num_classes);
  model->to(device, parameter_type(experiment.train.precision));
  use_channels_last(*model);
  const EvalBatch batch = make_batch(experiment, *data);
  if (!arguments.dump.empty()) {
    NamedTensors tensors = model_state(*model);
    for (auto& [name, tensor] : tensors) tensor = tensor.cpu();
    tensors.emplace_back("batch.images", image_batch(batch.pointers(), at::kCPU));
    tensors.emplace_back("batch.labels", at::stack(batch.labels));
    write_file(arguments.dump, encode_safetensors(tensors));
  }
  const Predictor predictor(experiment, model, device);
  const std::vector<std::optional<Placement>> as_they_are(batch.images.size());
  const KeptCasts kept;
  std::vector<double> milliseconds;
  ConfusionMatrix total(num_classes);
  // As the evaluator: a batch is counted while the next one is sent off and a GPU computes it.
  Background counting;
  const auto evaluate = [&] {
    const ImageGroup images{image_batch(batch.pointers(), device), batch.images[0].max_value, as_they_are};
    const auto predicted = std::make_shared<Download>(predictor.class_maps(images));
    counting.start([&, predicted] {
      total = ConfusionMatrix(num_classes);
      for (const EvalCounts& own : count_images(batch.labels, predicted->wait(), {.num_classes = num_classes}))
        total.add_counts(own.pixels().counts());
    });
    if (device.is_cpu()) counting.wait();
  };
  const int64_t warm = arguments.warmup;
  for (int64_t i = 0; i < warm + arguments.turns.count() * arguments.rounds; ++i) {
    if (i == warm) {
      synchronize(device);
      peak_memory(device);
    }
    if (i >= warm && (i - warm) % arguments.rounds == 0) {
      counting.wait();
      arguments.turns.wait();
    }
    const auto begin = std::chrono::steady_clock::now();
    evaluate();
    if (i >= warm) {
      milliseconds.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    }
  }
  counting.wait();
  const double median = median_of(milliseconds);
  const at::Tensor predicted = total.counts().sum(0);  // by class, for a peer to compare
  nlohmann::json result{{"ms_median", median},
                        {"ms_of_turns", arguments.turns.medians(milliseconds)},
                        {"images_per_s", 1000.0 * static_cast<double>(batch.images.size()) / median},
                        {"height", batch.images[0].height},
                        {"width", batch.images[0].width},
                        {"predicted", std::vector<int64_t>(predicted.const_data_ptr<int64_t>(),
                                                           predicted.const_data_ptr<int64_t>() + predicted.numel())},
                        {"peak_memory_bytes", peak_memory(device)},
                        {"environment", describe_environment()}};
  if (arguments.profile) add_profile(result, device, evaluate, [&] { counting.wait(); });
  fmt::print("{}\n", json_text(result, 2));
}

}  // namespace

void add_bench_eval(CLI::App& bench) {
  auto arguments = std::make_shared<EvalArguments>();
  CLI::App* command = bench.add_subcommand("eval", "images a second of prediction and counting, as JSON");
  arguments->model.add_to(*command);
  command->add_option("--rounds", arguments->rounds, "batches to time")->capture_default_str()->check(above_zero());
  command->add_option("--warmup", arguments->warmup, "batches before")->capture_default_str()->check(zero_or_more());
  command->add_option("--dump", arguments->dump, "write the weights and the batch to this safetensors file");
  arguments->turns.add_to(*command);
  command->add_flag("--profile", arguments->profile, "also where the time goes: kernels of a GPU, operations on a CPU");
  command->callback([arguments] { bench_eval(*arguments); });
}

}  // namespace tessera
