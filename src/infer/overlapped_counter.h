#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "core/background.h"
#include "infer/eval_counts.h"
#include "infer/eval_result.h"
#include "infer/eval_samples.h"
#include "tensor/download.h"

namespace tessera {

// The counts of each image, counted side by side on the CPU.
std::vector<EvalCounts> count_images(const std::vector<at::Tensor>& labels, const std::vector<at::Tensor>& predicted,
                                     const Counting& counting);

// Compares predictions with the truth on a thread of its own, while the caller sends the next images off and a GPU computes
// them. One group is counted at a time, so two are held at most.
class OverlappedCounter {
 public:
  // device: that makes the predictions. On a CPU `add` waits, as counting and computing would both want all cores.
  OverlappedCounter(const Counting& counting, at::Device device);

  // predicted: (H, W) classes of each image, which the device may still be computing. Rethrows what went wrong in the groups
  // before.
  void add(std::vector<EvalTruth> truths, std::vector<at::Tensor> predicted);

  // Returns when everything is counted. Rethrows what went wrong.
  void wait() { background_.wait(); }

  // What was counted, after `wait`: what EvalCounts::result has, images and num_images.
  EvalResult result() const;

 private:
  struct Group {
    std::vector<EvalTruth> truths;
    Download predicted;
  };
  void count(Group& group);

  bool overlaps_;
  Counting counting_;
  EvalCounts total_;
  std::vector<ImageScore> images_;
  int64_t num_images_ = 0;
  Background background_;  // the last member: its thread uses the others
};

}  // namespace tessera
