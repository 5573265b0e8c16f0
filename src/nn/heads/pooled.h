#pragma once
#include <memory>
#include <string>
#include <vector>

#include "nn/blocks/conv.h"
#include "nn/blocks/layer.h"

namespace tessera {

// Average over a grid of `bin` x `bin` cells -> 1x1 ConvBlock. The result is as small as the grid: concat_resized brings it to
// the size of what it stands beside.
class PooledBranch : public Layer {
 public:
  struct Options {
    int64_t bin = 1;
    ConvNames names{"conv", "bn"};  // of the convolution and the batch norm
    std::string place = "1";        // the ConvBlock's own name, behind the pooling; empty: convolution and norm lie right here
  };
  PooledBranch(int64_t in, int64_t out, const Options& options);
  at::Tensor forward(const at::Tensor& x) override;
  // What follows the averages.
  at::Tensor after_pool(const at::Tensor& averages);
  int64_t bin() const { return bin_; }

 private:
  int64_t bin_;
  std::shared_ptr<ConvBlock> block_;
};

// Pyramid pooling: one branch per bin, named as in mmsegmentation's PPM.
class PyramidPooling : public torch::nn::Module {
 public:
  PyramidPooling(int64_t in, int64_t channels, const std::vector<int64_t>& bins, bool align_corners);
  // x and, behind it, the branches: (N, in + bins * channels, h, w).
  at::Tensor forward(const at::Tensor& x);

 private:
  std::vector<std::shared_ptr<PooledBranch>> branches_;
  bool align_corners_;
};

}  // namespace tessera
