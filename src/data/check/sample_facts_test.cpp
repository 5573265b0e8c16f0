#include "data/check/sample_facts.h"

#include <gtest/gtest.h>

#include "data/datasets/dataset_factory.h"
#include "support/fixtures.h"
#include "support/handmade_files.h"
#include "support/image_files.h"

namespace tessera {
namespace {

class SampleFactsOf : public ::testing::Test {
 protected:
  SampleFactsOf() {
    config_ = testing::pairs_at(folder_.path());
    config_.val_share = 0;
  }
  // Of a sample whose files are these.
  SampleFacts facts(const std::vector<uint8_t>& image, const std::vector<uint8_t>& mask) {
    testing::write_bytes(folder_ / "images/a.png", image);
    testing::write_bytes(folder_ / "masks/a.png", mask);
    ByteHistogram histogram;
    return look_at_sample(*make_dataset(config_, Split::kTrain), 0, histogram);
  }
  static std::vector<uint8_t> halves(int16_t left, int16_t right) {
    LabelMap labels(32, 32, left);
    for (int y = 0; y < 32; ++y) {
      for (int x = 16; x < 32; ++x) labels.at(y, x) = right;
    }
    return encode_png_labels(labels);
  }

  testing::TempFolder folder_;
  DataConfig config_;
};

Image slope(int channels, int step = 1) {
  Image image(32, 32, channels);
  for (size_t i = 0; i < image.bytes().size(); ++i)
    image.bytes()[i] = static_cast<uint8_t>(static_cast<int>(i / static_cast<size_t>(channels)) * step % 250);
  return image;
}

TEST_F(SampleFactsOf, AGoodSample) {
  const SampleFacts found = facts(encode_png(slope(3)), halves(0, 1));
  EXPECT_TRUE(found.usable() && found.decoded && found.has_labels && found.grey);
  EXPECT_FALSE(found.constant || found.transparent || found.shallow || found.mask.is_image || found.mask.borders.computed());
  EXPECT_EQ(found.classes, (std::vector<std::pair<int16_t, int64_t>>{{0, 512}, {1, 512}}));
  EXPECT_EQ(found.mask.highest, 1);
  EXPECT_DOUBLE_EQ(found.mask.zero_share, 0.5);
  EXPECT_EQ(found.image_file.format, "PNG");
}

TEST_F(SampleFactsOf, AMaskThatIsTheImage) {
  EXPECT_TRUE(facts(encode_png(slope(3)), encode_png(slope(3))).mask.is_image);  // the same bytes
  config_.labels.binary = true;
  EXPECT_TRUE(facts(encode_png(slope(3)), encode_png(slope(1))).mask.is_image);  // saved as grey
  EXPECT_FALSE(facts(encode_png(slope(3)), encode_png(slope(1, 3))).mask.is_image);
}

TEST_F(SampleFactsOf, A255ThatIsNotLabelled) {
  const SampleFacts found = facts(encode_png(slope(3)), halves(0, 255));
  EXPECT_TRUE(found.mask.only_zero_and_top);
  EXPECT_DOUBLE_EQ(found.mask.top_share, 0.5);
  EXPECT_EQ(found.labelled, 512);
}

TEST_F(SampleFactsOf, TransparencyCountsWhereItIsSeen) {
  testing::Bytes rows;
  for (int y = 0; y < 32; ++y) {
    rows.push_back(0);
    for (int x = 0; x < 32; ++x) testing::append(rows, {static_cast<uint8_t>(x), static_cast<uint8_t>(y), 3, 255});
  }
  const testing::Bytes header = testing::png_header(32, 32, 8, 6);
  EXPECT_FALSE(facts(testing::handmade_png(header, rows), halves(0, 1)).transparent);
  rows[4] = 254;
  EXPECT_TRUE(facts(testing::handmade_png(header, rows), halves(0, 1)).transparent);
}

TEST_F(SampleFactsOf, AFaultKeepsItsReasonAndWhatWasSeen) {
  const SampleFacts found = facts(encode_png(slope(3)), halves(0, 7));
  EXPECT_EQ(found.fault, FindingKind::kLabelOutOfRange);
  EXPECT_NE(found.reason.find("label 7 at (y 0, x 16)"), std::string::npos) << found.reason;
  EXPECT_EQ(found.mask.highest, 7);
}

TEST(SampleFactsOfValues, EightBitValuesInSixteen) {
  Sample sample;
  const auto shallow = [](std::vector<float> values) {
    Image image(1, 4, 1);
    image.max_value = 65535;
    image.pixels = std::move(values);
    return image;
  };
  struct Case {
    std::vector<float> values;
    bool expected;
  };
  class One : public Dataset {
   public:
    explicit One(Image image) : image_(std::move(image)) {}
    int64_t size() const override { return 1; }
    Sample get(int64_t) const override {
      Sample sample;
      sample.image = image_;
      return sample;
    }
    std::string id(int64_t) const override { return "a"; }
    const ClassTable& classes() const override { return classes_; }

   private:
    Image image_;
    ClassTable classes_;
  };
  for (const Case& one : {Case{{0, 12, 255, 7}, true}, Case{{0, 257, 514, 65535}, true}, Case{{0, 12, 256, 7}, false},
                          Case{{0, 0, 0, 0}, false}}) {
    ByteHistogram histogram;
    EXPECT_EQ(look_at_sample(One(shallow(one.values)), 0, histogram).shallow, one.expected) << one.values[2];
  }
}

}  // namespace
}  // namespace tessera
