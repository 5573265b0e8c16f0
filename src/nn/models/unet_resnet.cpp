#include "nn/models/unet_resnet.h"

#include <torch/types.h>

#include "core/error.h"
#include "nn/blocks/checkpointed.h"
#include "nn/blocks/conv.h"
#include "nn/blocks/resize.h"
#include "nn/init/init_layers.h"

namespace tessera {
namespace {

class DecoderBlock : public Layer {
 public:
  DecoderBlock(int64_t in, int64_t out)
      : conv1_(register_module("conv1", std::make_shared<ConvBlock>(in, out, ConvShape{.kernel = 3}, kSequentialNames))),
        conv2_(register_module("conv2", std::make_shared<ConvBlock>(out, out, ConvShape{.kernel = 3}, kSequentialNames))) {}
  at::Tensor forward(const at::Tensor& x) override { return conv2_->forward(conv1_->forward(x)); }

 private:
  std::shared_ptr<ConvBlock> conv1_, conv2_;
};

// A container for names: decoder.blocks.0 ...
class Decoder : public torch::nn::Module {
 public:
  Decoder() : blocks(register_module("blocks", std::make_shared<LayerList>())) {}
  std::shared_ptr<LayerList> blocks;
};

class SegmentationHead : public Layer {
 public:
  SegmentationHead(int64_t in, int64_t classes) : conv_(register_module("0", classifier_conv(in, classes, 3))) {}
  at::Tensor forward(const at::Tensor& x) override { return conv_(x); }

 private:
  torch::nn::Conv2d conv_;
};

}  // namespace

UNetResNet::UNetResNet(const UNetResNetConfig& config, const BackbonePtr& encoder, int64_t num_classes, bool checkpoint)
    : checkpoint_(checkpoint) {
  const std::vector<int64_t> stages = encoder->stage_channels();
  const std::vector<int64_t> skips = {stages[2], stages[1], stages[0], encoder->stem_channels(), 0};
  if (config.channels.size() != skips.size()) {
    fail_usage("model.unet_resnet.channels needs {} numbers, one per decoder block, got {}", skips.size(),
               config.channels.size());
  }
  encoder_ = register_module("encoder", encoder);
  const auto decoder = register_module("decoder", std::make_shared<Decoder>());
  int64_t width = stages.back();
  for (size_t i = 0; i < skips.size(); ++i) {
    blocks_.push_back(std::make_shared<DecoderBlock>(width + skips[i], config.channels[i]));
    decoder->blocks->add(blocks_.back());
    width = config.channels[i];
  }
  classifier_ = register_module("segmentation_head", std::make_shared<SegmentationHead>(width, num_classes));
}

ModelOutput UNetResNet::forward(const at::Tensor& input) {
  const Features features = encoder_->forward(input);
  const auto& stages = features.stages;
  const std::vector<at::Tensor> finer = {stages[2], stages[1], stages[0], features.stem, input};
  at::Tensor x = stages.back();
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const bool joins = i + 1 < blocks_.size();  // the image itself only says how large to become
    const std::vector<int64_t> size = {finer[i].size(2), finer[i].size(3)};
    Layer& block = *blocks_[i];
    const auto run = [&block, size](const std::vector<at::Tensor>& in) {
      const at::Tensor up = at::upsample_nearest2d(in[0], size);
      return block.forward(in.size() > 1 ? concat({up, in[1]}) : up);
    };
    const std::vector<at::Tensor> inputs = joins ? std::vector<at::Tensor>{x, finer[i]} : std::vector<at::Tensor>{x};
    x = checkpoint_ ? checkpointed(block, inputs, run) : run(inputs);
  }
  return {classifier_->forward(x), {}};
}

void UNetResNet::init(uint64_t seed) {
  encoder_->init(seed, "encoder.");
  for (size_t i = 0; i < blocks_.size(); ++i)
    init_layers(*blocks_[i], LayerInit::kKaimingUniform, seed, "decoder.blocks." + std::to_string(i) + ".");
  init_layers(*classifier_, LayerInit::kGlorot, seed, "segmentation_head.");
}

ModelPtr make_unet_resnet(const ModelConfig& config, const ModelShape& shape) {
  return std::make_shared<UNetResNet>(config.unet_resnet, make_backbone(config.backbone, shape.in_channels, 32),
                                      shape.num_classes, config.backbone.checkpoint);
}

}  // namespace tessera
