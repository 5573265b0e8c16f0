#include "config/segmentors_config.h"

#include <gtest/gtest.h>

#include "config/model_config.h"
#include "config/node.h"
#include "config/reader.h"
#include "core/error.h"

namespace tessera {
namespace {

ModelConfig read(const std::string& yaml) {
  ModelConfig config;
  ConfigReader::read_struct(parse_config(yaml, "test.yaml"), "model", config);
  return config;
}

TEST(SegmentorsConfig, ReadsBackboneAndHead) {
  const ModelConfig config = read(
      "backbone: {name: resnet101, output_stride: 16, stem: deep, dilation: every_conv, freeze_stages: 1, checkpoint: true}\n"
      "deeplabv3plus: {separable: none, dilations: [6, 12, 18], aux: {enabled: true, channels: 64}}\n"
      "fcn: {layout: mmseg}\n");
  EXPECT_EQ(config.backbone.name, "resnet101");
  EXPECT_EQ(config.backbone.output_stride, 16);
  EXPECT_EQ(config.backbone.stem, Stem::kDeep);
  EXPECT_EQ(config.backbone.dilation, DilationStyle::kEveryConv);
  EXPECT_EQ(config.backbone.freeze_stages, 1);
  EXPECT_TRUE(config.backbone.checkpoint);
  EXPECT_EQ(config.deeplabv3plus.separable, Separable::kNone);
  EXPECT_EQ(config.deeplabv3plus.dilations, (std::vector<int64_t>{6, 12, 18}));
  EXPECT_TRUE(config.deeplabv3plus.aux.enabled);
  EXPECT_EQ(config.deeplabv3plus.aux.channels, 64);
  EXPECT_EQ(config.fcn.layout, HeadLayout::kMmseg);
}

TEST(SegmentorsConfig, UnknownKeysAndBadRangesAreErrors) {
  EXPECT_THROW(read("pspnet: {bin: [1]}\n"), UsageError);
  EXPECT_THROW(read("upernet: {dropout: 1.0}\n"), UsageError);
  EXPECT_THROW(read("backbone: {freeze_stages: 5}\n"), UsageError);
}

}  // namespace
}  // namespace tessera
