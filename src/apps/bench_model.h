#pragma once
#include <ATen/core/Tensor.h>

#include <string>

#include "apps/command.h"

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

}  // namespace tessera
