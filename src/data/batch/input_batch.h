#pragma once
#include <ATen/core/Tensor.h>

#include "config/data_config.h"
#include "tensor/batch.h"

namespace tessera {

// A rank's batch on its device. What the loader left to do to its pixels (colours, mixing) is done as network input is made
// from them, in one pass.
class InputBatch {
 public:
  InputBatch() = default;
  InputBatch(const Batch& batch, at::Device device);

  int64_t size() const { return count_; }  // samples, without the partners of some

  // Of samples [begin, end): (N, C, H, W) of type `type`, stored channels-last.
  at::Tensor input(int64_t begin, int64_t end, const NormalizeConfig& config, at::ScalarType type) const;

  const at::Tensor& labels() const { return labels_; }              // (N, H, W); where boxes are pasted, theirs
  const at::Tensor& other_labels() const { return other_labels_; }  // (N, H, W) of what is blended in; undefined: nothing is
  const at::Tensor& mix_weight() const { return mix_weight_; }      // (N) float64 of `labels`, with `other_labels`

 private:
  void mix_labels(const Batch& batch, const at::Tensor& all);
  at::Tensor in_boxes(int64_t begin, int64_t end) const;  // (N, H, W) bool
  at::Tensor mixed_with_tensor_operations(int64_t begin, int64_t end, const NormalizeConfig& config, at::ScalarType type) const;

  int64_t count_ = 0;
  at::Tensor images_, labels_, other_labels_, mix_weight_;
  at::Tensor mixes_, colors_;  // tables of kernels/pixels/augment_pixels.h; both undefined where nothing is left to do
  bool mixed_ = false;
  float max_value_ = 1;
};

// Whether input() changes colours on that device, for images with that many channels; else the loader has to.
bool changes_colors(at::Device device, const NormalizeConfig& config, int64_t channels);

}  // namespace tessera
