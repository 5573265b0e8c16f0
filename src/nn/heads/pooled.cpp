#include "nn/heads/pooled.h"

#include <torch/types.h>

#include "core/error.h"
#include "nn/blocks/resize.h"
#include "tensor/step_context.h"

namespace tessera {
namespace {

// Samples in the smallest batch-norm unit of a pass of n samples, see Note [Batch-norm units].
int64_t smallest_unit(int64_t n) {
  int64_t smallest = n;
  for (const NormSegment& segment : step_context().segments) {
    smallest = segment.begin == 0 ? segment.unit_size : std::min(smallest, segment.unit_size);
  }
  return smallest;
}

}  // namespace

PooledBranch::PooledBranch(int64_t in, int64_t out, const Options& options)
    : bin_(options.bin), align_corners_(options.align_corners) {
  block_ = std::make_shared<ConvBlock>(in, out, ConvShape{}, options.names);
  if (!options.place.empty()) {
    register_module(options.place, block_);
  } else {
    for (const auto& child : block_->named_children()) register_module(child.key(), child.value());
  }
}

at::Tensor PooledBranch::forward(const at::Tensor& x) {
  TSR_CHECK(!is_training() || smallest_unit(x.size(0)) * bin_ * bin_ > 1,
            "batch norm over one pooled value has no variance: this model trains with at least 2 samples in every batch-norm "
            "unit, here is one of 1 sample; raise train.batch_size or train.norm_group");
  return resize_to(block_->forward(at::adaptive_avg_pool2d(x, {bin_, bin_})), x, align_corners_);
}

PyramidPooling::PyramidPooling(int64_t in, int64_t channels, const std::vector<int64_t>& bins, bool align_corners) {
  for (const int64_t bin : bins) {
    branches_.push_back(register_module(
        std::to_string(branches_.size()),
        std::make_shared<PooledBranch>(in, channels, PooledBranch::Options{.bin = bin, .align_corners = align_corners})));
  }
}

at::Tensor PyramidPooling::forward(const at::Tensor& x) {
  std::vector<at::Tensor> parts = {x};
  for (const LayerPtr& branch : branches_) parts.push_back(branch->forward(x));
  return at::cat(parts, 1);
}

}  // namespace tessera
