#include "data/loading/transformed_sample.h"

#include <gtest/gtest.h>

#include "core/rng.h"
#include "data/datasets/encoded_dataset.h"
#include "data/decode/png_writer.h"
#include "data/transforms/make_pipeline.h"
#include "support/jpeg_files.h"
#include "support/pillow.h"

namespace tessera {
namespace {

using testing::encode_jpeg;
using testing::JpegKind;
using Bytes = std::vector<uint8_t>;

constexpr int kClasses = 7;

// Smooth colours with edges and noise: every pixel differs from its neighbours, as a test of positions needs.
Image textured(Size size, int channels, Rng& rng) {
  Image image(size.height, size.width, channels);
  size_t at = 0;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const int block = (y / 11 + x / 17 + c) % 3 * 60;
        image.bytes()[at++] = static_cast<uint8_t>((block + y * (c + 1) + x * (3 - c) + static_cast<int>(rng.below(24))) % 256);
      }
    }
  }
  return image;
}

LabelMap blobs(Size size, Rng& rng) {
  LabelMap labels(size.height, size.width);
  const int unit = 1 + static_cast<int>(rng.below(40));
  const uint32_t most = 1 + rng.below(kClasses);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const Rng cell(9, Stream::kSynthetic, static_cast<uint64_t>(y / unit), static_cast<uint64_t>(x / unit));
      Rng drawn = cell;
      labels.at(y, x) = drawn.chance(0.1) ? kIgnoreLabel : static_cast<int16_t>(drawn.below(most));
    }
  }
  return labels;
}

template <class Set>
LabelConfig rules(const Set& set) {
  LabelConfig config;
  set(config);
  return config;
}

class MemoryDataset : public EncodedDataset {
 public:
  MemoryDataset(Bytes image, Bytes mask, LabelConfig label_rules = {}, DecodeOptions options = {}, bool labelled = true)
      : EncodedDataset({std::vector<std::string>(kClasses, "class"), std::vector<Color>(kClasses)}, std::move(label_rules),
                       std::move(options), {.labelled = labelled}),
        image_(std::move(image)),
        mask_(std::move(mask)) {}
  int64_t size() const override { return 1; }
  std::string id(int64_t) const override { return "in memory"; }
  std::optional<EncodedSample> encoded(int64_t) const override {
    return EncodedSample{"in memory", {image_, nullptr}, "image", {mask_, nullptr}, "mask"};
  }

 private:
  Bytes image_, mask_;
};

Sample plain(const Dataset& data, const Pipeline& pipeline, const SampleDraw& draw) {
  Sample sample = data.get(0);
  run_pipeline(pipeline, sample, draw.seed, draw.epoch, draw.draw);
  return sample;
}

void expect_equal(const Sample& a, const Sample& b) {
  EXPECT_EQ(a.id, b.id);
  ASSERT_EQ(a.image.size(), b.image.size());
  EXPECT_EQ(a.image.channels, b.image.channels);
  EXPECT_EQ(a.image.max_value, b.image.max_value);
  EXPECT_TRUE(a.image.pixels == b.image.pixels);
  ASSERT_EQ(a.labels.has_value(), b.labels.has_value());
  if (a.labels) {
    EXPECT_EQ(a.labels->size(), b.labels->size());
    EXPECT_TRUE(a.labels->labels == b.labels->labels);
  }
  EXPECT_EQ(a.placement.original, b.placement.original);
  EXPECT_EQ(a.placement.y, b.placement.y);
  EXPECT_EQ(a.placement.x, b.placement.x);
  EXPECT_EQ(a.placement.height, b.placement.height);
  EXPECT_EQ(a.placement.width, b.placement.width);
  EXPECT_EQ(a.placement.flipped, b.placement.flipped);
  EXPECT_EQ(a.placement.complete, b.placement.complete);
}

// How many of the draws were planned.
int64_t compare(const Dataset& data, const Pipeline& pipeline, uint64_t seed, uint64_t draws) {
  StageTimes times;
  for (uint64_t draw = 0; draw < draws; ++draw) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed << ", draw " << draw);
    const SampleDraw at{seed, 3, draw};
    expect_equal(transformed_sample(data, 0, pipeline, at, times), plain(data, pipeline, at));
    if (::testing::Test::HasFailure()) break;
  }
  return times.planned;
}

std::vector<std::vector<TransformConfig>> pipelines(Rng& rng) {
  const auto side = [&] { return 1 + static_cast<int>(rng.below(150)); };
  const RandomCropConfig crop{.size = {side(), side()}};
  const RandomCropConfig varied{.size = {side(), side()}, .max_class_share = 0.75, .retries = 5};
  const FlipConfig flips{.horizontal = 0.5, .vertical = 0.5};
  return {
      {ScaleJitterConfig{}, crop, FlipConfig{}, PhotometricConfig{}},
      {ScaleJitterConfig{}, varied, flips},
      {ScaleJitterConfig{.base = {side(), side()}, .keep_ratio = false}, varied, flips, BlurConfig{}},
      {ScaleJitterConfig{.base = {60, 200}, .side = JitterSide::kShort}, flips, varied},
      {ScaleJitterConfig{.min = 0.1, .max = 0.3}, flips, crop, PadConfig{{side(), side()}, true}},
      {ResizeConfig{ResizeMode::kExact, {side(), side()}}, flips},
      {ResizeConfig{ResizeMode::kPad, {side(), side()}}, flips, crop},
      {ResizeConfig{ResizeMode::kCropOrPad, {side(), side()}}, flips, PadConfig{{side(), side()}, false}},
      {ResizeConfig{ResizeMode::kShort, {side(), side()}}, crop},
      {PadConfig{{300, 300}, true}, crop, flips, varied},
      {PadConfig{{300, 300}, false}, flips, ResizeConfig{ResizeMode::kLong, {side(), side()}}, crop},
      {varied, flips, ResizeConfig{ResizeMode::kExact, {side(), side()}}, PhotometricConfig{}},
      {flips, varied, PadConfig{{side(), side()}, true}},
      {crop},
  };
}

const std::vector<JpegKind> kKinds = {{},
                                      {.horizontal = 1, .vertical = 1},
                                      {.horizontal = 2, .vertical = 1},
                                      {.horizontal = 1, .vertical = 2},
                                      {.horizontal = 4, .vertical = 1},
                                      {.horizontal = 4, .vertical = 2},
                                      {.progressive = true},
                                      {.restart_rows = 1},
                                      {.separate_scans = true},
                                      {.quality = 30},
                                      {.horizontal = 1, .vertical = 1, .quality = 100}};

TEST(TransformedSample, EqualsThePlainWayForEveryJpegAndPipeline) {
  Rng rng(11, Stream::kSynthetic);
  for (uint64_t round = 0; round < 12; ++round) {
    for (const JpegKind& kind : kKinds) {
      const Size size{1 + static_cast<int>(rng.below(210)), 1 + static_cast<int>(rng.below(260))};
      SCOPED_TRACE(::testing::Message() << size.height << " x " << size.width << ", colours " << kind.horizontal << " x "
                                        << kind.vertical << (kind.progressive ? ", progressive" : ""));
      const int channels = rng.chance(0.2) ? 1 : 3;
      const DecodeOptions options{.channels = rng.chance(0.2) ? 1 : 3};
      const MemoryDataset data(encode_jpeg(textured(size, channels, rng), kind), encode_png_labels(blobs(size, rng)), {},
                               options);
      for (const auto& configs : pipelines(rng)) {
        const Pipeline pipeline = make_pipeline(configs, Fill{0.485});
        EXPECT_EQ(compare(data, pipeline, round, 3), 3);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(TransformedSample, EqualsThePlainWayForEveryOtherFormat) {
  Rng rng(12, Stream::kSynthetic);
  for (const char* name : {"png_rgb", "png_la", "png_p4", "png_interlaced_rgb", "png_oriented_6", "jpeg_oriented_6",
                           "jpeg_cmyk", "jpeg_bytes_before_end", "tiff_rgb_lzw"}) {
    SCOPED_TRACE(name);
    const Bytes file = testing::pillow_image(name);
    const Size size = decode_image(file, {.channels = 3}).size();
    const MemoryDataset data(file, encode_png_labels(blobs(size, rng)));
    for (const auto& configs : pipelines(rng)) EXPECT_EQ(compare(data, make_pipeline(configs), 5, 3), 3);
  }
}

TEST(TransformedSample, EqualsThePlainWayForEveryRuleOfLabels) {
  Rng rng(13, Stream::kSynthetic);
  const Size size{90, 70};
  const Image image = textured(size, 3, rng);
  LabelMap labels = blobs(size, rng);
  const auto expect_same = [&](Bytes mask, const LabelConfig& label_rules) {
    const MemoryDataset data(encode_png(image), std::move(mask), label_rules);
    for (const auto& configs : pipelines(rng)) EXPECT_EQ(compare(data, make_pipeline(configs), 6, 3), 3);
  };
  expect_same(encode_png_labels(labels), {});
  expect_same(encode_png_labels(labels), rules([&](LabelConfig& r) { r.offset = -1; }));
  expect_same(encode_png_labels(labels), rules([&](LabelConfig& r) { r.binary = true; }));
  expect_same(encode_png_labels(labels), rules([&](LabelConfig& r) {
                r.map = {{0, 3}, {1, 2}, {2, 0}, {3, 1}, {4, 5}, {5, 6}, {6, 4}};
              }));
  expect_same(encode_png_labels(labels), rules([&](LabelConfig& r) { r.ignore = {2, 255}; }));
  std::vector<Color> palette;
  std::vector<std::vector<int64_t>> colors;
  for (int i = 0; i < kClasses; ++i) {
    palette.push_back({static_cast<uint8_t>(i * 30), static_cast<uint8_t>(200 - i), 7});
    colors.push_back({i * 30, 200 - i, 7});
  }
  expect_same(encode_png_palette(labels, palette), {});
  expect_same(encode_png_palette(labels, palette), rules([&](LabelConfig& r) {
                r.ignore = {255};
                r.colors = colors;
              }));
  LabelMap two = labels;
  for (int16_t& label : two.labels) label = label > 1 ? 1 : 0;
  expect_same(encode_png_palette(two, {{255, 255, 255}, {0, 0, 0}}), rules([&](LabelConfig& r) { r.binary = true; }));
  Image colored(size.height, size.width, 3), grey(size.height, size.width, 3);
  for (size_t i = 0; i < labels.labels.size(); ++i) {
    const auto label = static_cast<uint8_t>(std::max<int16_t>(0, labels.labels[i]));
    for (size_t c = 0; c < 3; ++c) {
      colored.bytes()[3 * i + c] = palette[label][c];
      grey.bytes()[3 * i + c] = label;
    }
  }
  expect_same(encode_png(colored), rules([&](LabelConfig& r) { r.colors = colors; }));
  expect_same(encode_png(grey), {});
  LabelMap deep(size.height, size.width, 300);  // written with 16 bits
  expect_same(encode_png_labels(deep), rules([&](LabelConfig& r) { r.map = {{300, 1}}; }));
}

TEST(TransformedSample, AnImageWithoutLabelsHasNone) {
  Rng rng(14, Stream::kSynthetic);
  const MemoryDataset data(encode_jpeg(textured({80, 90}, 3, rng)), {}, LabelConfig{}, DecodeOptions{}, false);
  for (const auto& configs : pipelines(rng)) EXPECT_EQ(compare(data, make_pipeline(configs), 7, 4), 4);
}

TEST(TransformedSample, WhatCannotBePlannedGoesThePlainWay) {
  Rng rng(15, Stream::kSynthetic);
  const MemoryDataset data(encode_jpeg(textured({80, 90}, 3, rng)), encode_png_labels(blobs({80, 90}, rng)));
  for (const std::vector<TransformConfig>& configs : {std::vector<TransformConfig>{},
                                                      {RotateConfig{}, RandomCropConfig{.size = {40, 40}}},
                                                      {PhotometricConfig{}, FlipConfig{}}}) {
    EXPECT_EQ(compare(data, make_pipeline(configs), 8, 4), 0);
  }
}

// Bytes of a file that decide about no pixel of what is asked for are looked at all the same: whether a sample is usable must
// not depend on what was drawn for it.
TEST(TransformedSample, BadSamplesAreThoseOfThePlainWay) {
  Rng rng(16, Stream::kSynthetic);
  const Size size{300, 320};
  const Bytes image = encode_jpeg(textured(size, 3, rng)), mask = encode_png_labels(blobs(size, rng));
  const Pipeline pipeline = make_pipeline(std::vector<TransformConfig>{RandomCropConfig{.size = {16, 16}}, FlipConfig{}});
  const auto message = [&](const auto& load) -> std::string {
    try {
      load();
    } catch (const BadSample& error) {
      return error.what();
    }
    return "";
  };
  int64_t bad = 0;
  const auto expect_same = [&](const Bytes& image_file, const Bytes& mask_file) {
    const MemoryDataset data(image_file, mask_file);
    for (uint64_t draw = 0; draw < 4; ++draw) {
      StageTimes times;
      const std::string plainly = message([&] { plain(data, pipeline, {1, 2, draw}); });
      EXPECT_EQ(message([&] { transformed_sample(data, 0, pipeline, {1, 2, draw}, times); }), plainly);
      bad += plainly.empty() ? 0 : 1;
    }
  };
  for (const double share : {0.001, 0.1, 0.5, 0.9, 0.99}) {
    const auto cut = [&](const Bytes& file) {
      return Bytes(file.begin(), file.begin() + static_cast<ptrdiff_t>(share * file.size()));
    };
    expect_same(cut(image), mask);
    expect_same(image, cut(mask));
  }
  expect_same(Bytes(image.begin(), image.end() - 2), mask);
  for (int round = 0; round < 60; ++round) {
    Bytes hit = image;
    hit[rng.below(static_cast<uint32_t>(hit.size()))] ^= static_cast<uint8_t>(1 + rng.below(255));
    expect_same(hit, mask);
    Bytes other = mask;
    other[rng.below(static_cast<uint32_t>(other.size()))] ^= static_cast<uint8_t>(1 + rng.below(255));
    expect_same(image, other);
  }
  LabelMap wrong(size.height, size.width);
  wrong.at(299, 319) = kClasses;
  expect_same(image, encode_png_labels(wrong));
  expect_same(image, encode_png_labels(LabelMap(size.width, size.height)));
  EXPECT_GT(bad, 100);
}

}  // namespace
}  // namespace tessera
