#include <torch/types.h>

#include "core/error.h"
#include "nn/backbones/backbone.h"
#include "nn/blocks/classifier.h"
#include "nn/blocks/conv.h"
#include "nn/blocks/resize.h"
#include "nn/init/init_layers.h"
#include "nn/model.h"

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

// U-Net with a ResNet encoder, arranged and named as segmentation-models-pytorch's Unet: five decoder blocks, each a nearest
// resize to the next finer feature, the join, and two 3x3 convolutions. Logits have the input's resolution, at any size.
class UNetResNet : public SegmentationModel {
 public:
  UNetResNet(const UNetResNetConfig& config, const BackbonePtr& encoder, int64_t num_classes, bool checkpoint);

  void init(uint64_t seed) override;
  std::vector<std::string> head_prefixes() const override { return {"decoder.", "segmentation_head.", "supervision"}; }

 protected:
  // The segments of the encoder, each decoder block, the head.
  std::vector<Segment> make_segments() override;

 private:
  bool checkpoint_;
  BackbonePtr encoder_;
  std::vector<LayerPtr> blocks_;
  LayerPtr classifier_;
  std::vector<torch::nn::Conv2d> supervision_;  // of heights 1, 2, ..., counted from the top
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
  for (size_t height = 1; height <= static_cast<size_t>(config.deep_supervision); ++height) {
    const torch::nn::Conv2d conv(torch::nn::Conv2dOptions(config.channels[skips.size() - 1 - height], num_classes, 1));
    supervision_.push_back(register_module("supervision" + std::to_string(height), conv));
  }
}

std::vector<Segment> UNetResNet::make_segments() {
  const FeatureNeeds needs{.size = true, .stem = true, .stages = {true, true, true, true}};
  std::vector<Segment> all = encoder_->segments("encoder.", needs);
  for (size_t i = 0; i < blocks_.size(); ++i) {
    // Each block takes the next finer feature from the back of the state; the last takes the size of the image.
    const bool joins = i + 1 < blocks_.size();
    const std::string path = "decoder.blocks." + std::to_string(i);
    const size_t height = blocks_.size() - 1 - i;
    const bool supervised = height > 0 && height <= supervision_.size();
    std::vector<std::string> parts{path};
    if (supervised) parts.push_back("supervision" + std::to_string(height));
    all.push_back({.name = supervised ? "decoder" + std::to_string(height) : path,
                   .parts = parts,
                   .compute =
                       [this, block = blocks_[i], joins, supervised, height](const Tensors& in) {
                         const at::Tensor &finer = in[0], &x = in[1];
                         const at::Tensor up = at::upsample_nearest2d(x, finer.sizes().slice(2));
                         Tensors out{block->forward(joins ? concat({up, finer}) : up)};
                         if (supervised && is_training()) out.push_back(classify_pixels(supervision_[height - 1], out[0]));
                         out.insert(out.end(), in.begin() + 2, in.end());  // logits of the heights below
                         return out;
                       },
                   .carried = blocks_.size() - 1 - i,
                   .checkpoint = checkpoint_});
  }
  all.push_back({.name = "segmentation_head", .parts = {"segmentation_head"}, .compute = [this](const Tensors& in) {
                   Tensors out{classifier_->forward(in[0])};
                   out.insert(out.end(), in.begin() + 1, in.end());
                   return out;
                 }});
  return all;
}

void UNetResNet::init(uint64_t seed) {
  encoder_->init(seed, "encoder.");
  for (size_t i = 0; i < blocks_.size(); ++i)
    init_layers(*blocks_[i], LayerInit::kKaimingUniform, seed, "decoder.blocks." + std::to_string(i) + ".");
  init_layers(*classifier_, LayerInit::kGlorot, seed, "segmentation_head.");
  for (size_t i = 0; i < supervision_.size(); ++i)
    init_layers(*supervision_[i], LayerInit::kGlorot, seed, "supervision" + std::to_string(i + 1) + ".");
}

ModelPtr make_unet_resnet(const ModelConfig& config, const ModelShape& shape) {
  return std::make_shared<UNetResNet>(config.unet_resnet, make_backbone(config.backbone, shape.in_channels, 32),
                                      shape.num_classes, config.backbone.checkpoint);
}

}  // namespace tessera
