#pragma once
#include <optional>
#include <string>
#include <vector>

#include "config/backbone_config.h"
#include "config/node.h"
#include "config/schema.h"
#include "config/segmenter_config.h"
#include "config/segmentors_config.h"
#include "config/upernet_vit_config.h"

namespace tessera {

enum class ConvPadding { kSame, kValid };
template <>
struct EnumNames<ConvPadding> {
  static constexpr std::array<std::string_view, 2> names = {"same", "valid"};
};
enum class UpPath { kTransposed, kDilated, kBilinear };
template <>
struct EnumNames<UpPath> {
  static constexpr std::array<std::string_view, 3> names = {"transposed", "dilated", "bilinear"};
};
enum class Skips { kAll, kInner };
template <>
struct EnumNames<Skips> {
  static constexpr std::array<std::string_view, 2> names = {"all", "inner"};
};

struct UNetConfig {
  std::vector<int64_t> channels = {32, 64, 128, 256};
  std::vector<int64_t> convs = {2};
  int64_t bottleneck = 0;
  ConvPadding padding = ConvPadding::kSame;
  bool batch_norm = true;
  UpPath up = UpPath::kTransposed;
  Skips skips = Skips::kAll;
  double dropout = 0;
  int64_t deep_supervision = 0;
  bool checkpoint = false;
};
template <class V>
void describe(V& v, UNetConfig& c) {
  v.field("channels", c.channels, "channels per height, top first", at_least(1));
  v.field("convs", c.convs, "3x3 convolutions per height, then the bottleneck's; one number stands for all", at_least(1));
  v.field("bottleneck", c.bottleneck, "channels of the bottleneck; 0: twice the last height's", at_least(0));
  v.field("padding", c.padding, "same keeps sizes; valid shrinks by 2 per convolution, skips are cropped to the centre");
  v.field("batch_norm", c.batch_norm, "batch norm after each convolution");
  v.field("up", c.up,
          "transposed: 2x2 stride 2; dilated: 3x3 over the input spread by 2, halving channels as it goes up; bilinear: "
          "resize, then 3x3");
  v.field("skips", c.skips, "all heights are joined on the way up; inner: all but the first, as the COCO reference does");
  v.field("dropout", c.dropout, "of whole channels at the bottleneck", between(0, 0.99));
  v.field("deep_supervision", c.deep_supervision, kDeepSupervisionHelp, at_least(0));
  v.field("checkpoint", c.checkpoint, "keep only the input of each block and compute the rest again in the backward pass");
}

// Where the weights of convolutions and linear layers start; see docs/models.md.
enum class Init { kReference, kTorch, kHe, kLecun, kGlorot };
template <>
struct EnumNames<Init> {
  static constexpr std::array<std::string_view, 5> names = {"reference", "torch", "he", "lecun", "glorot"};
};

struct ModelConfig {
  std::string name = "unet";
  int64_t num_classes = 0;
  std::string pretrained;
  bool allow_missing = false;
  std::vector<std::string> freeze;
  Init init = Init::kReference;
  std::optional<bool> zero_gamma;
  Node options;
  UNetConfig unet;
  BackboneConfig backbone;
  PspNetConfig pspnet;
  UperNetConfig upernet;
  DeepLabV3Config deeplabv3;
  DeepLabV3PlusConfig deeplabv3plus;
  FcnConfig fcn;
  UNetResNetConfig unet_resnet;
  SegmenterConfig segmenter;
  UperNetVitConfig upernet_vit;
};
template <class V>
void describe(V& v, ModelConfig& c) {
  v.field("name", c.name, "which model; `tessera train --help` lists them");
  v.field("num_classes", c.num_classes, "0: as many as the data has", at_least(0));
  v.field(
      "pretrained", c.pretrained,
      "weights to start from: a name of `tessera models pretrained`, a URL, a .pth, .safetensors or .npz file, or a run; of "
      "torchvision, timm, mmsegmentation, smp, Segmenter or ours; the head is left fresh where its classes differ");
  v.field("allow_missing", c.allow_missing,
          "start even if that file lacks weights outside the head, or has another head for as many classes");
  v.field("freeze", c.freeze,
          "layers that are not trained, by their path in `tessera models show` or the name of their segment there with "
          "--segments: [backbone.layer1, encoder.blocks.0]; their batch norms keep their statistics. For a part of the run: "
          "'backbone until 5ep', "
          "'encoder from 0.5dur'");
  v.field("init", c.init,
          "how weights are drawn where none are loaded: reference: as the library that the model follows; or, for every "
          "convolution and linear layer, torch: torch's default; he: normal, 2 / larger fan; lecun: Flax's default; glorot: "
          "Keras's default");
  v.field("zero_gamma", c.zero_gamma,
          "whether the last batch norm of each residual block starts with scale 0, so that the block starts as its shortcut; "
          "unset: as the model's reference does (mmsegmentation yes, torchvision and smp no)");
  v.field("options", c.options, "settings of a model that has no group below; such a model describes them in its own file");
  v.group("unet", c.unet, "for model unet");
  v.group("backbone", c.backbone, "for models on a ResNet: pspnet, upernet, deeplabv3, deeplabv3plus, fcn, unet_resnet");
  v.group("pspnet", c.pspnet, "for model pspnet");
  v.group("upernet", c.upernet, "for model upernet");
  v.group("deeplabv3", c.deeplabv3, "for model deeplabv3");
  v.group("deeplabv3plus", c.deeplabv3plus, "for model deeplabv3plus");
  v.group("fcn", c.fcn, "for model fcn");
  v.group("unet_resnet", c.unet_resnet, "for model unet_resnet");
  v.group("segmenter", c.segmenter, "for model segmenter");
  v.group("upernet_vit", c.upernet_vit, "for model upernet_vit");
}

// How many heights of the decoder have a loss of their own beside that of the top.
inline int64_t supervised_heights(const ModelConfig& model) {
  return model.name == "unet"          ? model.unet.deep_supervision
         : model.name == "unet_resnet" ? model.unet_resnet.deep_supervision
                                       : 0;
}

}  // namespace tessera
