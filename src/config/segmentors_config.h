#pragma once
#include <vector>

#include "config/schema.h"

namespace tessera {

// Whose arrangement of layers, and names of parameters, a head has.
enum class HeadLayout { kTorchvision, kMmseg };
template <>
struct EnumNames<HeadLayout> {
  static constexpr std::array<std::string_view, 2> names = {"torchvision", "mmseg"};
};

// Which 3x3 convolutions of DeepLabV3+'s head are depthwise separable.
enum class Separable { kAll, kAspp, kNone };
template <>
struct EnumNames<Separable> {
  static constexpr std::array<std::string_view, 3> names = {"all", "aspp", "none"};
};

// The auxiliary head on stage 3 that most of these models train with.
struct AuxConfig {
  bool enabled = true;
  int64_t channels = 256;
  double dropout = 0.1;
};
template <class V>
void describe(V& v, AuxConfig& c) {
  v.field("enabled", c.enabled, "train with an auxiliary head on stage 3");
  v.field("channels", c.channels, "channels of its 3x3 convolution (torchvision's layout: a quarter of the stage's)",
          at_least(1));
  v.field("dropout", c.dropout, "before its classifier", between(0, 0.99));
}

struct PspNetConfig {
  std::vector<int64_t> bins = {1, 2, 3, 6};
  int64_t channels = 512;
  double dropout = 0.1;
  bool align_corners = false;
  AuxConfig aux;
};
template <class V>
void describe(V& v, PspNetConfig& c) {
  v.field("bins", c.bins, "sides of the pooled grids", at_least(1));
  v.field("channels", c.channels, "of each pooled branch and of the bottleneck", at_least(1));
  v.field("dropout", c.dropout, "of whole channels before the classifier", between(0, 0.99));
  v.field("align_corners", c.align_corners, "how pooled grids are resized");
  v.group("aux", c.aux, "auxiliary head");
}

struct UperNetConfig {
  std::vector<int64_t> bins = {1, 2, 3, 6};
  int64_t channels = 512;
  double dropout = 0.1;
  bool align_corners = false;
  AuxConfig aux;
};
template <class V>
void describe(V& v, UperNetConfig& c) {
  v.field("bins", c.bins, "sides of the pooled grids on the last stage", at_least(1));
  v.field("channels", c.channels, "of the feature pyramid", at_least(1));
  v.field("dropout", c.dropout, "of whole channels before the classifier", between(0, 0.99));
  v.field("align_corners", c.align_corners, "how grids and pyramid levels are resized");
  v.group("aux", c.aux, "auxiliary head");
}

struct DeepLabV3Config {
  HeadLayout layout = HeadLayout::kTorchvision;
  std::vector<int64_t> dilations = {12, 24, 36};
  int64_t channels = 0;
  double aspp_dropout = 0.5;
  double dropout = 0.1;
  bool align_corners = false;
  AuxConfig aux;
};
template <class V>
void describe(V& v, DeepLabV3Config& c) {
  v.field("layout", c.layout, "torchvision: 1x1 projection, then 3x3; mmseg: one 3x3 bottleneck");
  v.field("dilations", c.dilations, "of the 3x3 branches; 6, 12, 18 go with output stride 16", at_least(1));
  v.field("channels", c.channels, "0: 256 in torchvision's layout, 512 in mmseg's", at_least(0));
  v.field("aspp_dropout", c.aspp_dropout, "after torchvision's projection", between(0, 0.99));
  v.field("dropout", c.dropout, "of whole channels before mmseg's classifier", between(0, 0.99));
  v.field("align_corners", c.align_corners, "how the pooled branch is resized");
  v.group("aux", c.aux, "auxiliary head");
}

struct DeepLabV3PlusConfig {
  Separable separable = Separable::kAspp;
  std::vector<int64_t> dilations = {12, 24, 36};
  int64_t channels = 512;
  int64_t low_level_channels = 48;
  double dropout = 0.1;
  bool align_corners = false;
  AuxConfig aux{.enabled = false};
};
template <class V>
void describe(V& v, DeepLabV3PlusConfig& c) {
  v.field("separable", c.separable,
          "which 3x3 convolutions are depthwise separable: aspp: all but the bottleneck behind the ASPP, as mmsegmentation; "
          "all; none");
  v.field("dilations", c.dilations, "of the 3x3 branches; 6, 12, 18 go with output stride 16", at_least(1));
  v.field("channels", c.channels, "of the branches and the decoder", at_least(1));
  v.field("low_level_channels", c.low_level_channels, "what stage 1 is reduced to before it is joined", at_least(1));
  v.field("dropout", c.dropout, "of whole channels before the classifier", between(0, 0.99));
  v.field("align_corners", c.align_corners, "how branches are resized");
  v.group("aux", c.aux, "auxiliary head");
}

struct FcnConfig {
  HeadLayout layout = HeadLayout::kTorchvision;
  int64_t convs = 2;
  bool concat_input = true;
  int64_t channels = 512;
  double dropout = 0.1;
  AuxConfig aux;
};
template <class V>
void describe(V& v, FcnConfig& c) {
  v.field("layout", c.layout, "torchvision: one 3x3 with a quarter of the stage's channels; mmseg: as below");
  v.field("convs", c.convs, "3x3 convolutions (mmseg)", at_least(1));
  v.field("concat_input", c.concat_input, "join the stage's features again before the classifier (mmseg)");
  v.field("channels", c.channels, "of the convolutions (mmseg)", at_least(1));
  v.field("dropout", c.dropout, "before the classifier", between(0, 0.99));
  v.group("aux", c.aux, "auxiliary head");
}

inline constexpr const char* kDeepSupervisionHelp =
    "how many heights of the decoder below the top one have a classifier and a loss of their own in training, at weights "
    "that loss.aux_weight says; 0: none. nnU-Net has all but the lowest: one less than there are heights below the top";

struct UNetResNetConfig {
  std::vector<int64_t> channels = {256, 128, 64, 32, 16};
  int64_t deep_supervision = 0;
};
template <class V>
void describe(V& v, UNetResNetConfig& c) {
  v.field("channels", c.channels, "of the five decoder blocks, deepest first", at_least(1));
  v.field("deep_supervision", c.deep_supervision, kDeepSupervisionHelp, at_least(0));
}

}  // namespace tessera
