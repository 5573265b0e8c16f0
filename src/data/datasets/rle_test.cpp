#include "data/datasets/rle.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "support/fixtures.h"

namespace tessera {
namespace {

TEST(Rle, StringsEqualPycocotools) {
  const auto fixture = testing::load_fixture("pycocotools.json");
  ASSERT_EQ(fixture.at("rle").size(), 11U);
  for (const auto& item : fixture.at("rle")) {
    const auto expected = item.at("lengths").get<std::vector<int64_t>>();
    const Size size{item.at("height"), item.at("width")};
    const auto lengths = parse_rle_string(item.at("string").get<std::string>());
    EXPECT_EQ(runs_from_lengths(lengths, size), runs_from_lengths(expected, size)) << item.at("string");
  }
}

TEST(Rle, LengthsAlternateFromUnset) {
  const std::vector<int64_t> lengths = {2, 3, 0, 1, 6};
  EXPECT_EQ(runs_from_lengths(lengths, {4, 3}), (std::vector<PixelRun>{{2, 5}, {5, 6}}));
  EXPECT_EQ(area_of(std::vector<PixelRun>{{2, 5}, {5, 6}}), 4);
}

TEST(Rle, PaintsDownTheColumns) {
  std::vector<int16_t> columns(6);
  paint_runs(columns, std::vector<PixelRun>{{2, 4}}, 7);
  EXPECT_EQ(label_map(columns, {3, 2}).labels, (std::vector<int16_t>{0, 7, 0, 0, 7, 0}));
}

TEST(Rle, RejectsSumsThatMissTheImage) {
  EXPECT_THROW(runs_from_lengths(std::vector<int64_t>{5, 6}, {4, 3}), Error);
  EXPECT_THROW(runs_from_lengths(std::vector<int64_t>{5, 8}, {4, 3}), Error);
  EXPECT_THROW(runs_from_lengths(std::vector<int64_t>{5, -1, 8}, {4, 3}), Error);
  EXPECT_THROW(runs_from_lengths(std::vector<int64_t>{INT64_MAX, INT64_MAX}, {4, 3}), Error);
}

TEST(Rle, RejectsDamagedStrings) {
  EXPECT_THROW(parse_rle_string("P"), Error);                     // says that more follows
  EXPECT_THROW(parse_rle_string("0 1"), Error);                   // a blank is no digit
  EXPECT_THROW(parse_rle_string("oooooooooooooooooooo"), Error);  // a number without end
}

}  // namespace
}  // namespace tessera
