#include "config/used_lines.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera {
namespace {

std::vector<std::string> keys(const std::vector<std::string>& overrides) {
  Experiment e = load_experiment("", overrides);
  std::vector<std::string> all;
  for (const SchemaLine& line : used_lines(e)) all.push_back(line.key);
  return all;
}

bool has(const std::vector<std::string>& all, const std::string& key) {
  return std::find(all.begin(), all.end(), key) != all.end();
}

TEST(UsedLines, ShowTheModelAndTheDataThatAreMeant) {
  const auto unet = keys({"data.type=synthetic"});
  EXPECT_TRUE(has(unet, "model.unet.channels") && has(unet, "data.synthetic.kind") && has(unet, "optimizer.lr"));
  for (const char* other : {"model.pspnet", "model.pspnet.bins", "model.backbone.name", "model.segmenter", "data.coco.classes",
                            "data.labels.binary", "train.ema.half_life", "train.mixup", "train.cutmix.alpha", "dist.bucket_mb",
                            "eval.window", "eval.window.size", "data.val.path"})
    EXPECT_FALSE(has(unet, other)) << other;
  const auto pspnet = keys({"model.name=pspnet", "data.type=coco", "train.ema.smoothing=0.9", "train.mixup.alpha=0.2"});
  EXPECT_TRUE(has(pspnet, "model.pspnet.bins") && has(pspnet, "model.backbone.name") && has(pspnet, "data.coco.classes"));
  EXPECT_TRUE(has(pspnet, "train.ema.smoothing") && has(pspnet, "train.mixup.alpha"));
  const auto windows = keys({"eval.window.size=512", "dist.timeout_s=60", "data.labels.binary=true"});
  EXPECT_TRUE(has(windows, "eval.window.stride") && has(windows, "dist.timeout_s") && has(windows, "data.labels.binary"));
  EXPECT_FALSE(has(pspnet, "model.unet") || has(pspnet, "data.synthetic.kind") || has(pspnet, "model.upernet_vit"));
}

TEST(UsedLines, WhatIsLeftReadsBackToTheSameExperiment) {
  Experiment e = load_experiment("", {"model.name=segmenter", "data.type=coco", "data.path=/x", "optimizer.lr=0.125"});
  const Experiment again = read_experiment(parse_config(to_yaml(used_lines(e)), "used"));
  EXPECT_EQ(experiment_yaml(again), experiment_yaml(e));
}

}  // namespace
}  // namespace tessera
