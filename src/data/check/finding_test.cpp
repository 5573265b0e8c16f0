#include "data/check/finding.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "data/datasets/dataset_factory.h"
#include "support/fixed_dataset.h"
#include "support/fixtures.h"
#include "support/image_files.h"

namespace tessera {
namespace {

using testing::bad_sample;
using testing::FixedDataset;
using testing::row_sample;

Survey survey(std::vector<Sample> samples, Split split = Split::kTrain) {
  return survey_split(split, std::make_shared<FixedDataset>(std::move(samples)), 1, {});
}

std::vector<Finding> found_in(const std::vector<Survey>& surveys, const DataConfig& config = {}) {
  return find_faults({surveys, config});
}

// "kind: a, b" or "kind: text" for each finding.
std::vector<std::string> brief(const std::vector<Finding>& findings) {
  std::vector<std::string> lines;
  for (const Finding& finding : findings) {
    std::string names;
    for (const FoundSample& sample : finding.samples) names += (names.empty() ? "" : ", ") + sample.id;
    lines.push_back(fmt::format("{}: {}", finding_facts(finding.kind).name, names.empty() ? finding.text : names));
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(Findings, CopiesWithinASplitAndClassesThatNeverOccur) {
  const auto findings =
      found_in({survey({row_sample("x", {1, 2}, {0, 1}), row_sample("y", {1, 3}, {0, 2}), row_sample("z", {1, 2}, {0, 2}),
                        row_sample("w", {9, 8}, {-1, -1}), row_sample("v", {9, 7}, {0, 0})})});
  EXPECT_EQ(brief(findings), (Lines{"exact_duplicate: z", "unlabelled: w", "background_only: v"}));
  EXPECT_EQ(findings[0].samples[0].detail, "is x again, with another mask");
  EXPECT_EQ(brief(found_in({survey({row_sample("x", {1, 2}, {0, 1})})})),
            (Lines{"class_count: 1 of 3 classes never occur: b"}));
}

TEST(Findings, CopiesInTwoSplitsAreToldOfTheOneToTakeOut) {
  const auto findings =
      found_in({survey({row_sample("x", {1, 2}, {0, 1}), row_sample("y", {1, 3}, {0, 2})}),
                survey({row_sample("a", {1, 2}, {0, 1}), row_sample("b", {4, 3}, {0, 2}), bad_sample("c")}, Split::kVal)});
  EXPECT_EQ(brief(findings), (Lines{"split_leak: x", "unusable: c"}));
  EXPECT_EQ(findings[0].samples[0].detail, "is a of val");
  EXPECT_EQ(findings[0].samples[0].other, 0);
}

TEST(Findings, ClassesAbsentFromOneSplit) {
  const auto findings =
      found_in({survey({row_sample("x", {1, 2}, {0, 1})}), survey({row_sample("a", {1, 3}, {0, 2})}, Split::kVal)});
  EXPECT_EQ(brief(findings), (Lines{"absent_class: 1 of 3 classes never occur in train, but do in another split: b",
                                    "absent_class: 1 of 3 classes never occur in val, but do in another split: a"}));
}

TEST(Findings, ExtremeImbalanceComesWithWeights) {
  std::vector<int16_t> labels(1001, 0);
  labels[0] = 1;
  labels[1] = labels[2] = labels[3] = labels[4] = labels[5] = labels[6] = labels[7] = labels[8] = labels[9] = labels[10] = 2;
  std::vector<uint8_t> values(1001);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i % 200);
  const auto findings = found_in({survey({row_sample("x", values, labels)})});
  ASSERT_EQ(brief(findings),
            (Lines{"class_imbalance: background has 990 times the pixels of a (0.0999 % of the labelled ones)"}));
  EXPECT_EQ(findings[0].keys, (Lines{"loss.class_weights=[0.010,10.000,1.000]"}));
}

TEST(Findings, DepthsAreNamedWithTheImagesThatHaveAnother) {
  Sample deep = row_sample("deep", {0, 0}, {0, 2});
  deep.image.pixels = std::vector<float>{40000.0F, 300.0F};
  deep.image.max_value = 65535.0F;
  const auto findings = found_in({survey({row_sample("x", {1, 2}, {0, 1}), deep, row_sample("z", {5, 6}, {0, 1})})});
  ASSERT_EQ(brief(findings), (Lines{"mixed_depths: deep"}));
  EXPECT_EQ(findings[0].text,
            "the images have different depths: 1 16-bit (first: deep), 2 8-bit (first: x); training will refuse to mix them in "
            "a batch: "
            "convert all to one depth");
}

// Ten samples of one kind, and odd ones.
std::vector<Sample> crowd() {
  std::vector<Sample> samples;
  for (uint8_t i = 0; i < 20; ++i) {
    Sample sample = row_sample(fmt::format("s{:02}", i), {}, {0, 1, 2, 2});
    sample.image = Image(1, 4, 3);
    sample.image.bytes() = {100, static_cast<uint8_t>(i * 3), 0, 200, 3, 255, 40, 30, 10, 9, 8, static_cast<uint8_t>(i * 7)};
    samples.push_back(std::move(sample));
  }
  return samples;
}

TEST(Findings, OddOnesOut) {
  EXPECT_TRUE(found_in({survey(crowd())}).empty());
  std::vector<Sample> odd = crowd();
  odd[1].image.bytes() = {7, 7, 7, 200, 200, 200, 40, 40, 40, 9, 9, 9};
  odd[4].image.bytes() = {1, 2, 3, 3, 2, 1, 4, 5, 6, 1, 1, 2};
  odd[6].image.bytes() = std::vector<uint8_t>(12, 55);
  odd[9].image = Image(1, 5, 3);
  for (size_t i = 0; i < 15; ++i) odd[9].image.bytes()[i] = static_cast<uint8_t>(i * 16);
  odd[9].labels = LabelMap(1, 5, 2);
  EXPECT_EQ(brief(found_in({survey(odd)})), (Lines{"constant_image: s06", "black_image: s04", "grey_among_colour: s01",
                                                   "odd_size: s09", "constant_mask: s09"}));
}

class FindingsOfFiles : public ::testing::Test {
 protected:
  FindingsOfFiles() {
    config_ = testing::pairs_at(folder_.path());
    config_.val_share = 0;
    config_.classes = {"a", "b", "c"};
  }
  // A sample of its own look whose mask is three stripes of these values.
  void write(const std::string& id, std::array<int16_t, 3> stripes) {
    const int number = written_++;
    Image image(24, 24, 3);
    LabelMap labels(24, 24);
    for (int y = 0; y < 24; ++y) {
      for (int x = 0; x < 24; ++x) {
        const int bent = (x + (y * number) % 5) % 24;
        labels.at(y, x) = stripes[static_cast<size_t>(bent / 8)];
        for (int c = 0; c < 3; ++c)
          image.bytes()[static_cast<size_t>((y * 24 + x) * 3 + c)] =
              static_cast<uint8_t>((x * (3 + number * 7) + y * (5 + number * 13) + c * 40) % 251);
      }
    }
    testing::write_bytes(folder_ / ("images/" + id + ".png"), encode_png(image));
    testing::write_bytes(folder_ / ("masks/" + id + ".png"), encode_png_labels(labels));
  }
  Lines found() {
    std::vector<Survey> surveys;
    surveys.push_back(survey_split(Split::kTrain, make_dataset(config_, Split::kTrain), 1, {}));
    findings_ = found_in(surveys, config_);
    return brief(findings_);
  }

  testing::TempFolder folder_;
  DataConfig config_;
  std::vector<Finding> findings_;
  int written_ = 1;
};

TEST_F(FindingsOfFiles, NothingInACleanFolder) {
  for (const char* id : {"p", "q", "r", "s"}) write(id, {0, 1, 2});
  EXPECT_EQ(found(), Lines{});
}

TEST_F(FindingsOfFiles, OffsetsThatSeemWrong) {
  for (const char* id : {"p", "q", "r", "s"}) write(id, {0, 1, 2});
  config_.labels.offset = -1;
  Lines lines = found();
  ASSERT_EQ(lines.size(), 2U);  // and the last class never occurs
  EXPECT_TRUE(lines[0].starts_with("wrong_offset: with data.labels.offset=-1 the value 0 (33.")) << lines[0];
  EXPECT_EQ(findings_[0].keys, Lines{"data.labels.offset=0"});
  config_.labels.offset = 0;
  for (const char* id : {"p", "q", "r", "s"}) write(id, {1, 2, 1});
  lines = found();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(lines[0].starts_with("wrong_offset: no mask has the value 0, which is a: the values are 1..2")) << lines[0];
  EXPECT_EQ(findings_[0].keys, Lines{"data.labels.offset=-1"});
}

TEST_F(FindingsOfFiles, A255OfOneMaskAndOfAll) {
  for (const char* id : {"p", "q", "r", "s"}) write(id, {0, 1, 2});
  write("t", {0, 255, 0});
  EXPECT_EQ(found(), Lines{"binary_mask: t"});
  for (const char* id : {"t", "u"}) write(id, {1, 255, 2});
  const Lines lines = found();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(lines[0].starts_with("undeclared_ignore: 2 of 6 masks hold 255")) << lines[0];
  EXPECT_EQ(findings_[0].keys, Lines{"data.labels.ignore=[255]"});
  config_.labels.ignore = {255};
  EXPECT_EQ(found(), Lines{});
}

TEST_F(FindingsOfFiles, NamesAndFilesThatAreNotWhatTheySeem) {
  for (const char* id : {"p", "q", "r", "s"}) write(id, {0, 1, 2});
  fs::rename(folder_ / "masks/p.png", folder_ / "masks/P.png");
  fs::rename(folder_ / "images/q.png", folder_ / "images/q.jpg");
  fs::copy_file(folder_ / "masks/r.png", folder_ / "masks/s.png", fs::copy_options::overwrite_existing);
  const Lines lines = found();
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0], "case_mismatch: p");
  EXPECT_EQ(lines[1], "same_mask: s");
  EXPECT_EQ(lines[2], "wrong_extension: q");
  EXPECT_TRUE(lines[3].starts_with("left_out_files: 1 of 4 masks in")) << lines[3];
}

TEST_F(FindingsOfFiles, AMaskOfInventedValuesIsNamedByWhatMadeItSo) {
  config_.labels.ignore = {255};
  for (const char* id : {"p", "q", "r", "s"}) write(id, {0, 1, 2});
  LabelMap soft(24, 24);
  for (int y = 0; y < 24; ++y) {
    for (int x = 0; x < 24; ++x) soft.at(y, x) = static_cast<int16_t>(std::clamp((x - 8) * 60 + y * 3 % 40, 0, 254));
  }
  testing::write_bytes(folder_ / "masks/q.png", encode_png_labels(soft));
  EXPECT_EQ(found(), Lines{"interpolated_mask: q"});
  EXPECT_NE(findings_[0].samples[0].detail.find("expected 0..2"), std::string::npos);
}

}  // namespace
}  // namespace tessera
