#pragma once
#include <string>

#include "config/schema.h"

namespace tessera {

enum class Stem { kConv7, kDeep };
template <>
struct EnumNames<Stem> {
  static constexpr std::array<std::string_view, 2> names = {"conv7", "deep"};
};

// Implementations agree that a stage whose stride is taken out is dilated instead; they differ in where the dilation starts.
enum class DilationStyle { kContracted, kFull, kEveryConv };
template <>
struct EnumNames<DilationStyle> {
  static constexpr std::array<std::string_view, 3> names = {"contracted", "full", "every_conv"};
};

// How the shortcut of a block with a stride gets smaller.
enum class Shortcut { kConv, kAverage };
template <>
struct EnumNames<Shortcut> {
  static constexpr std::array<std::string_view, 2> names = {"conv", "average"};
};

struct BackboneConfig {
  std::string name = "resnet50";
  int64_t output_stride = 0;
  Stem stem = Stem::kConv7;
  int64_t stem_width = 64;
  int64_t width = 64;
  Shortcut shortcut = Shortcut::kConv;
  DilationStyle dilation = DilationStyle::kContracted;
  int64_t freeze_stages = -1;
  bool freeze_batch_norm = false;
  bool checkpoint = false;
};
template <class V>
void describe(V& v, BackboneConfig& c) {
  v.field("name", c.name, "resnet18/34/50/101/152, resnext50_32x4d, resnext101_32x8d, wide_resnet50_2, wide_resnet101_2");
  v.field("output_stride", c.output_stride, "8, 16 or 32, by dilation; 0: what the model is known with", between(0, 32));
  v.field("stem", c.stem, "conv7: one 7x7 convolution (torchvision); deep: three 3x3 (mmsegmentation's V1c)");
  v.field("stem_width", c.stem_width, "channels after the stem; a deep stem has half of them inside", at_least(2));
  v.field("width", c.width, "channels inside the first stage, doubled by each one after; 64 in all published weights",
          at_least(1));
  v.field(
      "shortcut", c.shortcut,
      "conv: a 1x1 convolution with the block's stride; average: pooling, then a 1x1 (with stem deep: mmsegmentation's V1d)");
  v.field("dilation", c.dilation,
          "contracted: the first block of a dilated stage keeps the dilation before it (torchvision, mmsegmentation's d8 "
          "models); full: it does not; every_conv: as full, and both convolutions of a basic block are dilated (smp)");
  v.field("freeze_stages", c.freeze_stages, "-1: none; 0: the stem is not trained; n: nor are the first n stages",
          between(-1, 4));
  v.field("freeze_batch_norm", c.freeze_batch_norm, "batch norms of the backbone use their stored statistics in training too");
  v.field("checkpoint", c.checkpoint, "keep only the input of each block and compute the rest again in the backward pass");
}

}  // namespace tessera
