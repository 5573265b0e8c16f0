// `tessera bench data CONFIG`: how fast training data is loaded, and where the time goes.
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "apps/bench_model.h"
#include "apps/command.h"
#include "core/clock.h"
#include "core/cpu_budget.h"
#include "core/cpu_load.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_text.h"
#include "data/batch/input_batch.h"
#include "data/batch/loader.h"
#include "data/datasets/dataset_factory.h"
#include "data/decode/png_writer.h"
#include "data/transforms/make_pipeline.h"
#include "infer/environment.h"

namespace tessera {
namespace {

struct DataArguments {
  ConfigArguments config;
  int64_t images = 1000;
  bool as_json = false;
  std::string dump;
};

struct Measured {
  int64_t images = 0;
  double seconds = 0, cpu_seconds = 0, waited = 0, input_seconds = 0;
  StageTimes stages;
  int threads = 1, cpus = 1;

  double ms(double in_all) const { return 1e3 * in_all / static_cast<double>(images); }
  double stage_ms(size_t stage) const { return ms(1e-9 * static_cast<double>(stages.ns[stage])); }
};

StageTimes difference(StageTimes after, const StageTimes& before) {
  for (size_t i = 0; i < after.ns.size(); ++i) after.ns[i] -= before.ns[i];
  after.samples -= before.samples;
  after.planned -= before.planned;
  return after;
}

// The images of a batch of bytes as PNG files, for who wants to compare them.
void dump_images(const Batch& batch, const Dataset& data, const fs::path& folder) {
  TSR_CHECK_USAGE(batch.images.scalar_type() == at::kByte, "--dump writes images of 8 bits, these are deeper");
  fs::create_directories(folder);
  for (int64_t i = 0; i < batch.size(); ++i) {
    const at::Tensor pixels = batch.images[i];
    Image image(static_cast<int>(pixels.size(0)), static_cast<int>(pixels.size(1)), static_cast<int>(pixels.size(2)));
    std::copy_n(pixels.const_data_ptr<uint8_t>(), image.count(), image.bytes().begin());
    write_file(folder / (data.id(batch.indices[static_cast<size_t>(i)]) + ".png"), encode_png(image));
  }
}

// Batches as a training on the CPU takes them: normalised floats, and labels as whole numbers of 64 bits, which is what other
// programs hand to their loss. The first batches, until all that is made ahead was made once, are not counted.
Measured measure(const Experiment& experiment, const DataArguments& arguments) {
  const DatasetPtr data = make_dataset(experiment.data, Split::kTrain);
  const bool in_input = changes_colors(at::kCPU, experiment.data.normalize, experiment.data.channels);
  const Pipeline pipeline = make_pipeline(experiment.data, Split::kTrain, in_input ? ColorPlace::kDevice : ColorPlace::kLoader);
  Quarantine quarantine(data->size(), experiment.data.max_bad_share);
  Measured result;
  result.cpus = cpu_budget().cpus();
  result.threads = loader_threads(experiment.data.threads, 1);
  Loader loader(*data, pipeline, quarantine,
                {.batch_size = experiment.train.batch_size,
                 .seed = experiment.train.seed,
                 .mix = {experiment.train.mixup, experiment.train.cutmix},
                 .threads = result.threads,
                 .prefetch = static_cast<int>(experiment.data.prefetch)},
                0);
  std::string dump = arguments.dump;
  const auto take = [&] {
    const Batch batch = loader.next();
    if (!dump.empty()) dump_images(batch, *data, std::exchange(dump, ""));
    const double begin = monotonic_s();
    const InputBatch input(batch, at::kCPU);
    const at::Tensor pixels = input.input(0, input.size(), experiment.data.normalize, at::kFloat);
    const at::Tensor labels = input.labels().to(at::kLong);
    result.input_seconds += monotonic_s() - begin;
    return input.size();
  };
  for (int64_t i = 0; i < experiment.data.prefetch + 1; ++i) take();
  const StageTimes before = loader.stage_times();
  const double begin = monotonic_s(), cpu = look_at_cpus().own, waited = loader.seconds_waited();
  result.input_seconds = 0;
  while (result.images < arguments.images) result.images += take();
  result.seconds = monotonic_s() - begin;
  result.cpu_seconds = look_at_cpus().own - cpu;
  result.waited = loader.seconds_waited() - waited;
  result.stages = difference(loader.stage_times(), before);
  return result;
}

nlohmann::json json_of(const Measured& measured) {
  nlohmann::json stages;
  for (size_t i = 0; i < kLoadStageNames.size(); ++i) stages[std::string(kLoadStageNames[i])] = measured.stage_ms(i);
  stages["input"] = measured.ms(measured.input_seconds);
  const auto images = static_cast<double>(measured.images);
  return {{"images", measured.images},
          {"images_per_s", images / measured.seconds},
          {"images_per_cpu_s", images / measured.cpu_seconds},
          {"threads", measured.threads},
          {"cpus", measured.cpus},
          {"waited_share", measured.waited / measured.seconds},
          {"ms_per_image", stages},
          {"planned_share",
           static_cast<double>(measured.stages.planned) / static_cast<double>(std::max<int64_t>(1, measured.stages.samples))},
          {"peak_memory_mb", static_cast<double>(peak_memory(at::kCPU)) / 1e6},
          {"environment", describe_environment()}};
}

void print_table(const nlohmann::json& result) {
  double all = 0;
  for (const auto& [stage, ms] : result["ms_per_image"].items()) all += ms.get<double>();
  fmt::print("{:<10} {:>12} {:>7} {:>16}\n", "stage", "ms an image", "share", "images/s a core");
  const auto row = [&](std::string_view stage, double ms) {
    if (ms > 0) fmt::print("{:<10} {:>12.3f} {:>6.1f}% {:>16.0f}\n", stage, ms, 100 * ms / all, 1e3 / ms);
  };
  for (const std::string_view stage : kLoadStageNames) row(stage, result["ms_per_image"][std::string(stage)]);
  row("input", result["ms_per_image"]["input"]);
  row("all", all);
  fmt::print(
      "\n{:.0f} images/s with {} threads on {} CPUs, {:.0f} images per second of CPU time; {:.0f} % of the samples decoded in "
      "part\n",
      result["images_per_s"].get<double>(), result["threads"].get<int>(), result["cpus"].get<int>(),
      result["images_per_cpu_s"].get<double>(), 100 * result["planned_share"].get<double>());
}

}  // namespace

void add_bench_data(CLI::App& bench) {
  auto arguments = std::make_shared<DataArguments>();
  CLI::App* data = bench.add_subcommand("data", "how fast training data is loaded, and where the time goes");
  arguments->config.add_to(*data);
  data->add_option("--images", arguments->images, "to load at least")->capture_default_str()->check(above_zero());
  data->add_option("--dump", arguments->dump, "write the images of the first batch into this folder, as PNG");
  data->add_flag("--json", arguments->as_json, "as JSON");
  data->callback([arguments] {
    const nlohmann::json result = json_of(measure(arguments->config.load(), *arguments));
    if (arguments->as_json) {
      fmt::print("{}\n", json_text(result, 2));
    } else {
      print_table(result);
    }
  });
}

}  // namespace tessera
