#include "nn/backbones/vit_pyramid.h"

#include <torch/nn/modules/activation.h>
#include <torch/types.h>

#include "core/error.h"
#include "nn/blocks/batch_norm.h"
#include "nn/blocks/pool.h"
#include "nn/init/draw.h"
#include "nn/init/init_layers.h"
#include "nn/init/init_transformer.h"

namespace tessera {
namespace {

namespace nn = torch::nn;

nn::ConvTranspose2d doubled(int64_t width) {
  return nn::ConvTranspose2d(nn::ConvTranspose2dOptions(width, width, 2).stride(2));
}

// 12 layers: 2, 5, 8, 11; 24 layers: 5, 11, 17, 23.
std::vector<int64_t> spread_evenly(int64_t layers) {
  std::vector<int64_t> chosen;
  for (int64_t quarter = 1; quarter <= 4; ++quarter) chosen.push_back(quarter * layers / 4 - 1);
  return chosen;
}

}  // namespace

VitPyramid::VitPyramid(const VitOptions& options, std::vector<int64_t> out_layers) : out_layers_(std::move(out_layers)) {
  TSR_CHECK_USAGE(options.layers >= 4, "a pyramid needs a vision transformer of at least 4 layers, this one has {}",
                  options.layers);
  if (out_layers_.empty()) out_layers_ = spread_evenly(options.layers);
  TSR_CHECK_USAGE(out_layers_.size() == 4, "a pyramid is made of 4 layers, out_layers names {}", out_layers_.size());
  vit_ = register_module("vit", Vit(options));
  const int64_t width = options.transformer.width;
  up4_ = register_module("up4", nn::Sequential(doubled(width), BatchNorm2d(width), nn::GELU(), doubled(width)));
  up2_ = register_module("up2", nn::Sequential(doubled(width)));
}

std::vector<Segment> VitPyramid::segments(const std::string& prefix, const FeatureNeeds& needs) {
  std::vector<Segment> all = vit_->layer_segments(prefix + "vit.", out_layers_);
  all.push_back({.name = prefix + "pyramid",
                 .parts = {prefix + "vit.norm", prefix + "up4", prefix + "up2"},
                 .compute =
                     [this, needs](const Tensors& in) {
                       Features features{.size = in[0]};
                       auto& maps = features.stages;
                       for (size_t i = 0; i < kStages; ++i) maps[i] = vit_->feature_map(in[1 + i], in[0]);
                       maps[0] = up4_->forward(maps[0]);
                       maps[1] = up2_->forward(maps[1]);
                       // A grid of one row or column cannot be halved further: rounded up, it stays.
                       maps[3] = maxima(maps[3], {.kernel = 2, .stride = 2, .ceil_mode = true});
                       return needs.pack(features);
                     },
                 .depth = vit_->depth_behind()});
  return all;
}

void VitPyramid::init(uint64_t seed, const std::string& prefix) {
  init_layers(*up4_, LayerInit::kTorch, seed, prefix + "up4.");
  init_layers(*up2_, LayerInit::kTorch, seed, prefix + "up2.");
  init_transformer(*vit_, seed, prefix + "vit.");
  // timm's class token is all but zero; the Segmenter's is not.
  const at::NoGradGuard no_grad;
  at::Tensor token = vit_->named_parameters()["cls_token"];
  token.copy_(draw_normal(seed, prefix + "vit.cls_token", token.sizes()) * 1e-6);
}

}  // namespace tessera
