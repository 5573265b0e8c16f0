#include "nn/backbones/resnet.h"

#include <torch/types.h>

#include "core/error.h"
#include "nn/backbones/residual_block.h"
#include "nn/blocks/conv.h"
#include "nn/blocks/pool.h"
#include "nn/init/init_layers.h"
#include "nn/registry.h"

namespace tessera {
namespace {

const Registry<ResNetLayout>& layouts() {
  static const Registry<ResNetLayout> table{"backbone",
                                            {
                                                {"resnet18", {.bottleneck = false, .blocks = {2, 2, 2, 2}}},
                                                {"resnet34", {.bottleneck = false, .blocks = {3, 4, 6, 3}}},
                                                {"resnet50", {.blocks = {3, 4, 6, 3}}},
                                                {"resnet101", {.blocks = {3, 4, 23, 3}}},
                                                {"resnet152", {.blocks = {3, 8, 36, 3}}},
                                                {"resnext50_32x4d", {.blocks = {3, 4, 6, 3}, .groups = 32, .base_width = 4}},
                                                {"resnext101_32x8d", {.blocks = {3, 4, 23, 3}, .groups = 32, .base_width = 8}},
                                                {"wide_resnet50_2", {.blocks = {3, 4, 6, 3}, .base_width = 128}},
                                                {"wide_resnet101_2", {.blocks = {3, 4, 23, 3}, .base_width = 128}},
                                            }};
  return table;
}

// Three 3x3 convolutions for the 7x7, numbered as in a Sequential with its ReLUs.
class DeepStem : public Layer {
 public:
  DeepStem(int64_t in, int64_t width) {
    const int64_t inner = width / 2;
    add(in, inner, 2);
    add(inner, inner, 1);
    add(inner, width, 1);
  }
  at::Tensor forward(const at::Tensor& x) override {
    at::Tensor y = x;
    for (size_t i = 0; i < convs_.size(); ++i) y = conv_norm_relu(convs_[i], norms_[i], y);
    return y;
  }

 private:
  void add(int64_t in, int64_t out, int64_t stride) {
    const size_t place = 3 * convs_.size();
    convs_.push_back(register_module(std::to_string(place), plain_conv(in, out, {.kernel = 3, .stride = stride})));
    norms_.push_back(register_module(std::to_string(place + 1), BatchNorm2d(out)));
  }

  std::vector<torch::nn::Conv2d> convs_;
  std::vector<BatchNorm2d> norms_;
};

}  // namespace

ResNet::ResNet(const ResNetLayout& layout, const BackboneConfig& config, int64_t in_channels, int64_t output_stride)
    : config_(config) {
  if (output_stride != 8 && output_stride != 16 && output_stride != 32) {
    fail_usage("model.backbone.output_stride must be 8, 16 or 32, got {}", output_stride);
  }
  if (config.stem == Stem::kDeep) {
    deep_stem_ = register_module("stem", std::make_shared<DeepStem>(in_channels, config.stem_width));
  } else {
    conv1_ = register_module("conv1", plain_conv(in_channels, config.stem_width, {.kernel = 7, .stride = 2}));
    bn1_ = register_module("bn1", BatchNorm2d(config.stem_width));
  }
  int64_t in = config.stem_width, stride_so_far = 4, dilation = 1;
  for (size_t i = 0; i < 4; ++i) {
    int64_t stride = i == 0 ? 1 : 2;
    const int64_t before = dilation;
    if (stride_so_far * stride > output_stride) {
      dilation *= stride;
      stride = 1;
    }
    stride_so_far *= stride;
    const int64_t planes = config.width << i;
    ResidualShape shape{.in = in,
                        .width = planes * layout.base_width / 64 * layout.groups,
                        .out = planes * (layout.bottleneck ? Bottleneck::kExpansion : BasicBlock::kExpansion),
                        .stride = stride,
                        .dilation = config.dilation == DilationStyle::kContracted ? before : dilation,
                        .groups = layout.groups,
                        .dilate_both = config.dilation == DilationStyle::kEveryConv,
                        .average_shortcut = config.shortcut == Shortcut::kAverage};
    auto stage = std::make_shared<LayerList>();
    for (int64_t n = 0; n < layout.blocks[i]; ++n) {
      if (layout.bottleneck) {
        stage->add(std::make_shared<Bottleneck>(shape));
      } else {
        stage->add(std::make_shared<BasicBlock>(shape));
      }
      shape.in = shape.out;
      shape.stride = 1;
      shape.dilation = dilation;
    }
    stages_.push_back(register_module("layer" + std::to_string(i + 1), stage));
    stage_channels_.push_back(shape.out);
    in = shape.out;
  }
  freeze();
}

at::Tensor ResNet::stem(const at::Tensor& x) {
  return deep_stem_ ? deep_stem_->forward(x) : conv_norm_relu(conv1_, bn1_, x);
}

std::vector<Segment> ResNet::segments(const std::string& prefix, const FeatureNeeds& needs) {
  TSR_CHECK(needs.stages.back(), "the last stage of a backbone is always needed");
  const FeatureNeeds first{.size = needs.size, .stem = needs.stem};
  std::vector<Segment> all{{.name = prefix + "stem",
                            .parts = deep_stem_ ? std::vector{prefix + "stem"} : std::vector{prefix + "conv1", prefix + "bn1"},
                            .compute = [this, first](const Tensors& in) {
                              const at::Tensor y = stem(in[0]);
                              Tensors out = first.pack({.size = size_tensor(in[0]), .stem = y});
                              out.push_back(maxima(y, {.kernel = 3, .stride = 2, .padding = 1}));
                              return out;
                            }}};
  size_t carried = first.count();
  for (size_t stage = 0; stage < kStages; ++stage) {
    const std::string path = prefix + "layer" + std::to_string(stage + 1);
    for (size_t i = 0; i < stages_[stage]->size(); ++i) {
      // The first block of a stage reads what the stage before leaves for the heads: that must stay in the state.
      const bool keeps_input = i == 0 && stage > 0 && needs.stages[stage - 1];
      Segment block = layer_segment(path + "." + std::to_string(i), &(*stages_[stage])[i]);
      if (keeps_input) {
        block.compute = [layer = &(*stages_[stage])[i]](const Tensors& in) -> Tensors {
          return {in[0], layer->forward(in[0])};
        };
      }
      block.carried = carried;
      block.checkpoint = config_.checkpoint;
      all.push_back(std::move(block));
      carried += keeps_input ? 1 : 0;
    }
  }
  return all;
}

void ResNet::init(uint64_t seed, const std::string& prefix) {
  init_layers(*this, LayerInit::kKaimingFanOut, seed, prefix);
}

void ResNet::freeze() {
  const auto freeze_part = [&](const std::shared_ptr<torch::nn::Module>& part) {
    for (at::Tensor& value : part->parameters()) value.requires_grad_(false);
    frozen_.push_back(part);
  };
  for (const auto& child : named_children()) {
    const bool is_stage = child.key().starts_with("layer");
    if (is_stage ? child.key().back() - '0' <= config_.freeze_stages : config_.freeze_stages >= 0) freeze_part(child.value());
  }
  if (!config_.freeze_batch_norm) return;
  for (const auto& module : modules(/*include_self=*/false)) {
    if (module->as<BatchNorm2dImpl>() != nullptr) frozen_.push_back(module);
  }
}

void ResNet::train(bool on) {
  Backbone::train(on);
  for (const auto& part : frozen_) part->eval();
}

BackbonePtr make_backbone(const BackboneConfig& config, int64_t in_channels, int64_t output_stride) {
  return std::make_shared<ResNet>(layouts().at(config.name), config, in_channels,
                                  config.output_stride > 0 ? config.output_stride : output_stride);
}

std::vector<std::string> backbone_names() {
  return layouts().names();
}

}  // namespace tessera
