#include "nn/heads/pooled.h"

#include <torch/types.h>

#include "nn/blocks/pool.h"
#include "nn/blocks/resize.h"

namespace tessera {

PooledBranch::PooledBranch(int64_t in, int64_t out, const Options& options) : bin_(options.bin) {
  block_ = std::make_shared<ConvBlock>(in, out, ConvShape{}, options.names);
  if (!options.place.empty()) {
    register_module(options.place, block_);
  } else {
    for (const auto& child : block_->named_children()) register_module(child.key(), child.value());
  }
}

at::Tensor PooledBranch::forward(const at::Tensor& x) {
  return after_pool(average_pools(x, bin_)[0]);
}

at::Tensor PooledBranch::after_pool(const at::Tensor& averages) {
  return block_->forward(averages);
}

PyramidPooling::PyramidPooling(int64_t in, int64_t channels, const std::vector<int64_t>& bins, bool align_corners)
    : align_corners_(align_corners) {
  for (const int64_t bin : bins) {
    branches_.push_back(register_module(std::to_string(branches_.size()),
                                        std::make_shared<PooledBranch>(in, channels, PooledBranch::Options{.bin = bin})));
  }
}

at::Tensor PyramidPooling::forward(const at::Tensor& x) {
  std::vector<int64_t> bins;
  for (const auto& branch : branches_) bins.push_back(branch->bin());
  std::vector<at::Tensor> parts = average_pools(x, bins);
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = branches_[i]->after_pool(parts[i]);
  parts.insert(parts.begin(), x);
  return concat_resized(parts, x, align_corners_);
}

}  // namespace tessera
