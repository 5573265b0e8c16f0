#pragma once
#include <gtest/gtest.h>

#include "support/tiny_experiment.h"
#include "train/train_step.h"

namespace tessera::testing {

// A batch whose ignored pixels are spread unevenly.
inline Batch uneven_batch(const Experiment& e) {
  Batch batch = first_batch(e);
  batch.labels[0].fill_(kIgnoreLabel);
  batch.labels[1].slice(0, 0, 20).fill_(kIgnoreLabel);
  batch.labels[5].slice(1, 3, 9).fill_(kIgnoreLabel);
  return batch;
}

// Weights after some steps on that batch.
inline at::Tensor weights_of(const Experiment& e, int steps, at::Tensor* buffers = nullptr, at::Device device = at::kCPU) {
  const Batch batch = uneven_batch(e);
  TrainStep step(e, make_model(e.model, {3, 4}, 1), 4, device);
  for (int i = 0; i < steps; ++i) step.run(batch, {i, 100, 2});
  if (buffers != nullptr) *buffers = step.arena().buffers().cpu().clone();
  return step.arena().params().cpu().clone();
}
inline at::Tensor weights_after(const std::vector<std::string>& overrides, int steps, at::Tensor* buffers = nullptr,
                                at::Device device = at::kCPU) {
  return weights_of(tiny_experiment(overrides), steps, buffers, device);
}

inline double relative_difference(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).abs().max() / a.abs().max()).item<double>();
}

inline void expect_overfits_one_batch(const std::string& precision, at::Device device) {
  const Experiment e = tiny_experiment({"train.precision=" + precision, "optimizer.type=adamw", "optimizer.lr=0.01"});
  const Batch batch = first_batch(e);
  TrainStep step(e, make_model(e.model, {3, 4}, 1), 4, device);
  const double first = step.run(batch, {0, 100, 2}).loss.item<double>();
  double last = first;
  for (int i = 1; i < 60; ++i) last = step.run(batch, {i, 100, 2}).loss.item<double>();
  EXPECT_LT(last, first * 0.4) << precision;
}

}  // namespace tessera::testing
