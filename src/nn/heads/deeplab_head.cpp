#include "nn/heads/deeplab_head.h"

#include <torch/types.h>

#include "nn/blocks/classifier.h"
#include "nn/blocks/conv.h"
#include "nn/blocks/resize.h"
#include "nn/heads/pooled.h"

namespace tessera {
namespace {

// The 1x1 projection behind the branches, with its dropout.
class Projection : public Layer {
 public:
  Projection(int64_t in, int64_t out, double dropout)
      : conv_(register_module("0", plain_conv(in, out, {}))),
        bn_(register_module("1", BatchNorm2d(out))),
        dropout_(register_module("3", ElementDropout(dropout))) {}
  at::Tensor forward(const at::Tensor& x) override { return dropout_(conv_norm_relu(conv_, bn_, x)); }

 private:
  torch::nn::Conv2d conv_;
  BatchNorm2d bn_;
  ElementDropout dropout_;
};

class Aspp : public Layer {
 public:
  Aspp(int64_t in, int64_t channels, const std::vector<int64_t>& dilations, double dropout) {
    convs_ = register_module("convs", std::make_shared<LayerList>());
    convs_->add(std::make_shared<ConvBlock>(in, channels, ConvShape{}, kSequentialNames));
    for (const int64_t dilation : dilations) {
      convs_->add(std::make_shared<ConvBlock>(in, channels, ConvShape{.kernel = 3, .dilation = dilation}, kSequentialNames));
    }
    convs_->add(std::make_shared<PooledBranch>(in, channels, PooledBranch::Options{.names = {"1", "2"}, .place = ""}));
    const int64_t joined = static_cast<int64_t>(convs_->size()) * channels;
    project_ = register_module("project", std::make_shared<Projection>(joined, channels, dropout));
  }
  at::Tensor forward(const at::Tensor& x) override {
    std::vector<at::Tensor> parts;
    for (size_t i = 0; i < convs_->size(); ++i) parts.push_back((*convs_)[i].forward(x));
    return project_->forward(concat_resized(parts, x, /*align_corners=*/false));
  }

 private:
  std::shared_ptr<LayerList> convs_;
  LayerPtr project_;
};

}  // namespace

TorchvisionDeepLabHead::TorchvisionDeepLabHead(int64_t in, int64_t channels, int64_t classes,
                                               const std::vector<int64_t>& dilations, double aspp_dropout) {
  aspp_ = register_module("0", std::make_shared<Aspp>(in, channels, dilations, aspp_dropout));
  conv_ = register_module("1", plain_conv(channels, channels, {.kernel = 3}));
  bn_ = register_module("2", BatchNorm2d(channels));
  classifier_ = register_module("4", classifier_conv(channels, classes));
}

at::Tensor TorchvisionDeepLabHead::forward(const Features& features) {
  return classify_pixels(classifier_, conv_norm_relu(conv_, bn_, aspp_->forward(features.stages.back())));
}

}  // namespace tessera
