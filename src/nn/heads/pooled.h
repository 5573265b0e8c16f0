#pragma once
#include <memory>
#include <string>
#include <vector>

#include "nn/blocks/conv.h"
#include "nn/blocks/layer.h"

namespace tessera {

// Average over a grid of `bin` x `bin` cells -> 1x1 ConvBlock -> bilinear back to the size of the input.
class PooledBranch : public Layer {
 public:
  struct Options {
    int64_t bin = 1;
    bool align_corners = false;
    ConvNames names{"conv", "bn"};  // of the convolution and the batch norm
    std::string place = "1";        // the ConvBlock's own name, behind the pooling; empty: convolution and norm lie right here
  };
  PooledBranch(int64_t in, int64_t out, const Options& options);
  at::Tensor forward(const at::Tensor& x) override;

 private:
  int64_t bin_;
  bool align_corners_;
  std::shared_ptr<ConvBlock> block_;
};

// Pyramid pooling: one branch per bin, named as in mmsegmentation's PPM.
class PyramidPooling : public torch::nn::Module {
 public:
  PyramidPooling(int64_t in, int64_t channels, const std::vector<int64_t>& bins, bool align_corners);
  // x and, behind it, the branches: (N, in + bins * channels, h, w).
  at::Tensor forward(const at::Tensor& x);

 private:
  std::vector<LayerPtr> branches_;
};

}  // namespace tessera
