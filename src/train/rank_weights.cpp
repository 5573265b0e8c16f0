#include "train/rank_weights.h"

#include <fmt/ranges.h>
#include <torch/types.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/clock.h"
#include "core/error.h"
#include "core/log.h"
#include "tensor/device.h"

namespace tessera {
namespace {

double parsed_weight(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0))
    fail_usage("dist.rank_weights holds '{}'; expected positive numbers, one per rank, e.g. [2, 1], or auto", text);
  return value;
}

// Convolutions per second of this rank's device: the work that a step mostly is.
double measured_speed(at::Device device) {
  const at::NoGradGuard no_grad;
  const auto options = at::TensorOptions(device).dtype(at::kFloat);
  const at::Tensor x = at::ones({4, 64, 64, 64}, options), weight = at::ones({64, 64, 3, 3}, options);
  const auto wait = [&] {
    if (device.is_cuda()) cuda_plugin()->synchronize(device.index());
  };
  double best = 1e9;
  for (int i = 0; i < 8; ++i) {
    const double begin = monotonic_s();
    at::conv2d(x, weight, {}, 1, 1);
    wait();
    best = std::min(best, monotonic_s() - begin);
  }
  return 1 / best;
}

}  // namespace

std::vector<double> rank_weights(const DistConfig& config, World& world, at::Device device) {
  const auto size = static_cast<size_t>(world.size());
  const auto& given = config.rank_weights;
  if (given.empty() || world.alone()) return std::vector<double>(size, 1.0);
  if (given.size() == 1 && given[0] == "auto") {
    const at::Tensor speeds = world.control.gather(at::scalar_tensor(measured_speed(device), at::kDouble));
    std::vector<double> weights(speeds.const_data_ptr<double>(), speeds.const_data_ptr<double>() + size);
    const double fastest = *std::max_element(weights.begin(), weights.end());
    // In tenths, so that noise between equal devices does not unbalance them.
    for (double& weight : weights) weight = std::max(1.0, std::round(10 * weight / fastest)) / 10;
    if (world.is_first()) log_info("rank weights, measured: [{}]", fmt::join(weights, ", "));
    return weights;
  }
  if (given.size() != size)
    fail_usage("dist.rank_weights has {} numbers for {} ranks; expected one per rank, or auto", given.size(), size);
  std::vector<double> weights;
  for (const std::string& text : given) weights.push_back(parsed_weight(text));
  return weights;
}

}  // namespace tessera
