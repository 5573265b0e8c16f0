#pragma once
#include <torch/nn/modules/conv.h>

#include <utility>

#include "nn/blocks/batch_norm.h"
#include "nn/blocks/layer.h"

namespace tessera {

struct ResidualShape {
  int64_t in = 64;
  int64_t width = 64;  // channels inside
  int64_t out = 64;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t groups = 1;
  bool dilate_both = false;       // basic blocks: the second 3x3 too
  bool average_shortcut = false;  // pooling takes the stride
};

// The two blocks of He et al. (2016), named and arranged as torchvision's v1.5: a bottleneck strides in its 3x3 convolution.
class ResidualBlock : public Layer {
 public:
  at::Tensor forward(const at::Tensor& x) override;
  // The norm whose output is added to the shortcut.
  virtual BatchNorm2d& last_norm() = 0;

 protected:
  explicit ResidualBlock(const ResidualShape& shape);
  // The first convolution with its norm and ReLU, and x for the shortcut.
  virtual std::pair<at::Tensor, at::Tensor> enter(const at::Tensor& x) = 0;
  // The other convolutions, the shortcut added to them, and the last ReLU.
  virtual at::Tensor leave(const at::Tensor& inner, const at::Tensor& shortcut) = 0;

 private:
  std::shared_ptr<Layer> downsample_;  // null where input and output have one shape
};

class BasicBlock : public ResidualBlock {
 public:
  static constexpr int64_t kExpansion = 1;
  explicit BasicBlock(const ResidualShape& shape);
  BatchNorm2d& last_norm() override { return bn2_; }

 private:
  std::pair<at::Tensor, at::Tensor> enter(const at::Tensor& x) override;
  at::Tensor leave(const at::Tensor& inner, const at::Tensor& shortcut) override;
  torch::nn::Conv2d conv1_{nullptr}, conv2_{nullptr};
  BatchNorm2d bn1_{nullptr}, bn2_{nullptr};
};

class Bottleneck : public ResidualBlock {
 public:
  static constexpr int64_t kExpansion = 4;
  explicit Bottleneck(const ResidualShape& shape);
  BatchNorm2d& last_norm() override { return bn3_; }

 private:
  std::pair<at::Tensor, at::Tensor> enter(const at::Tensor& x) override;
  at::Tensor leave(const at::Tensor& inner, const at::Tensor& shortcut) override;
  torch::nn::Conv2d conv1_{nullptr}, conv2_{nullptr}, conv3_{nullptr};
  BatchNorm2d bn1_{nullptr}, bn2_{nullptr}, bn3_{nullptr};
};

// Gives the last norm of every residual block in `root` this scale: with 0 each block starts as its shortcut alone (Goyal et
// al., 2017). Returns how many blocks there are.
int64_t set_last_gammas(torch::nn::Module& root, double gamma);

}  // namespace tessera
