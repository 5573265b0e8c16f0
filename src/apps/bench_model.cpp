#include "apps/bench_model.h"

#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>

#include "config/builtin_configs.h"
#include "core/error.h"
#include "tensor/device.h"

namespace tessera {

void BenchModel::add_to(CLI::App& command) {
  config.add_to(command);
  command.add_option(
      "--model", name,
      "instead of a config: a model of configs/base/models on synthetic images, 512 x 512, 150 classes, batch 16, "
      "bf16 where that is faster");
}

Experiment BenchModel::experiment() const {
  if (name.empty()) return config.load();
  if (!config.file().empty())
    fail_usage("--model {} and the config {} both say what to measure; give one of them", name, config.file().string());
  const std::string folder = "base/models/";
  if (find_embedded(builtin_configs(), folder + name) == nullptr) {
    std::vector<std::string_view> names;
    for (const EmbeddedFile& config : builtin_configs()) {
      if (config.name.starts_with(folder)) names.push_back(config.name.substr(folder.size()));
    }
    fail_usage("no model {}; there are: {}", name, fmt::join(names, ", "));
  }
  std::vector<std::string> overrides{
      "data.type=synthetic", "data.synthetic.kind=shapes", "data.synthetic.size=512", "data.synthetic.num_classes=150",
      "train.batch_size=16", "train.norm_group=16",        "train.precision=auto",    "data.train.count=16"};
  for (const std::string& text : config.overrides()) overrides.push_back(text);
  return load_experiment(kBuiltinPrefix + folder + name, overrides);
}

void synchronize(at::Device device) {
  if (device.is_cuda()) cuda_plugin()->synchronize(device.index());
}

int64_t peak_memory(at::Device device) {
  if (device.is_cuda()) return cuda_plugin()->peak_memory(device.index());
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{1024} * usage.ru_maxrss;
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

nlohmann::json profile_json(const std::vector<OpTime>& ops, int64_t steps) {
  nlohmann::json list = nlohmann::json::array();
  for (const OpTime& op : ops) {
    list.push_back({{"name", op.name},
                    {"calls_per_step", static_cast<double>(op.calls) / static_cast<double>(steps)},
                    {"ms_per_step", op.ms / static_cast<double>(steps)}});
  }
  return list;
}

}  // namespace tessera
