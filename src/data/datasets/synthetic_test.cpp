#include "data/datasets/synthetic.h"

#include <gtest/gtest.h>

#include <set>

#include "core/error.h"

namespace tessera {
namespace {

DataConfig config_of(SyntheticKind kind, int64_t channels = 3) {
  DataConfig config;
  config.type = SourceType::kSynthetic;
  config.synthetic.kind = kind;
  config.channels = channels;
  return config;
}

TEST(Synthetic, ImageIsAFunctionOfSeedSplitAndIndex) {
  DataConfig config = config_of(SyntheticKind::kCells);
  const SyntheticDataset one(config, Split::kTrain), val(config, Split::kVal);
  config.train.count = 7;
  const SyntheticDataset again(config, Split::kTrain);
  const Sample last = again.get(6), first = again.get(0);
  EXPECT_EQ(one.get(0).image.bytes(), first.image.bytes());
  EXPECT_EQ(one.get(6).labels->labels, last.labels->labels);
  EXPECT_NE(first.image.bytes(), last.image.bytes());
  EXPECT_NE(first.image.bytes(), val.get(0).image.bytes());
  config.synthetic.seed = 1;
  EXPECT_NE(first.image.bytes(), SyntheticDataset(config, Split::kTrain).get(0).image.bytes());
}

TEST(Synthetic, DefaultCountsAndNames) {
  const SyntheticDataset train(config_of(SyntheticKind::kCells), Split::kTrain),
      val(config_of(SyntheticKind::kShapes), Split::kVal);
  EXPECT_EQ(train.size(), 160);
  EXPECT_EQ(val.size(), 40);
  EXPECT_EQ(train.id(3), "cells-train-00003");
  EXPECT_EQ(train.classes().names, (std::vector<std::string>{"background", "nucleus"}));
  EXPECT_EQ(val.classes().names, (std::vector<std::string>{"background", "circle", "square", "triangle", "ring"}));
}

TEST(Synthetic, NucleiAreBrighterThanTheirSurroundings) {
  const SyntheticDataset data(config_of(SyntheticKind::kCells, 1), Split::kTrain);
  for (int64_t i = 0; i < 10; ++i) {
    const Sample sample = data.get(i);
    ASSERT_EQ(sample.image.channels, 1);
    double sum[2] = {0, 0}, count[2] = {0, 0};
    for (size_t p = 0; p < sample.labels->labels.size(); ++p) {
      const auto label = static_cast<size_t>(sample.labels->labels[p]);
      sum[label] += sample.image.bytes()[p];
      ++count[label];
    }
    EXPECT_GT(count[1] / (count[0] + count[1]), 0.05) << i;
    EXPECT_LT(count[1] / (count[0] + count[1]), 0.70) << i;
    EXPECT_GT(sum[1] / count[1], 2 * sum[0] / count[0]) << i;
  }
}

TEST(Synthetic, EveryShapeOccurs) {
  DataConfig config = config_of(SyntheticKind::kShapes);
  config.synthetic.num_classes = 12;
  config.synthetic.size = {48, 80};
  const SyntheticDataset data(config, Split::kTrain);
  std::set<int16_t> seen;
  for (int64_t i = 0; i < 40; ++i) {
    const Sample sample = data.get(i);
    EXPECT_EQ(sample.image.size(), (Size{48, 80}));
    seen.insert(sample.labels->labels.begin(), sample.labels->labels.end());
  }
  EXPECT_EQ(seen.size(), 12U);
  EXPECT_EQ(data.classes().names[9], "circle 2");
}

TEST(Synthetic, SmallAndOblongSizesWork) {
  for (SyntheticKind kind : {SyntheticKind::kCells, SyntheticKind::kShapes}) {
    DataConfig config = config_of(kind, 1);
    for (Size size : {Size{16, 16}, Size{16, 200}, Size{97, 33}}) {
      config.synthetic.size = size;
      const Sample sample = SyntheticDataset(config, Split::kTrain).get(0);
      EXPECT_EQ(sample.image.size(), size);
      EXPECT_EQ(sample.placement.original, size);
    }
  }
}

TEST(Synthetic, RejectsWhatItCannotMake) {
  EXPECT_THROW(SyntheticDataset(config_of(SyntheticKind::kCells, 4), Split::kTrain), Error);
  DataConfig config = config_of(SyntheticKind::kCells);
  config.train.list = "a.txt";
  EXPECT_THROW(SyntheticDataset(config, Split::kTrain), Error);
  EXPECT_THROW(SyntheticDataset(config_of(SyntheticKind::kCells), Split::kTrain).get(160), Error);
}

}  // namespace
}  // namespace tessera
