#pragma once
#include <ATen/core/Tensor.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/command.h"
#include "train/profile.h"

namespace tessera {

// What a benchmark runs: an experiment's config, or a shipped model on synthetic images.
struct BenchModel {
  ConfigArguments config;
  std::string name;

  void add_to(CLI::App& command);
  Experiment experiment() const;  // throws UsageError
};

void synchronize(at::Device device);
// Of the GPU's allocator since the last call; on a CPU of the whole process.
int64_t peak_memory(at::Device device);
double median_of(std::vector<double> values);
// Calls and milliseconds of each kernel or operation, for one of `steps` steps.
nlohmann::json profile_json(const std::vector<OpTime>& ops, int64_t steps);

}  // namespace tessera
