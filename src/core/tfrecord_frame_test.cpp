#include "core/tfrecord_frame.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "support/messages.h"

namespace tessera {
namespace {

std::span<const uint8_t> as_bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string two_records() {
  std::string file;
  put_tfrecord(file, "first");
  put_tfrecord(file, "");
  return file;
}

TEST(TfRecordFrame, RecordsAreFoundAgain) {
  const std::string file = two_records();
  ASSERT_EQ(file.size(), 5 + 2 * kTfRecordFrameBytes);
  EXPECT_TRUE(looks_like_tfrecord(as_bytes(file)));
  const auto places = find_tfrecords(as_bytes(file), "f");
  ASSERT_EQ(places.size(), 2U);
  EXPECT_EQ(places[0].offset, 12U);
  EXPECT_EQ(places[0].size, 5U);
  const auto data = checked_tfrecord(as_bytes(file), places[0]);
  EXPECT_EQ(std::string(data.begin(), data.end()), "first");
  EXPECT_EQ(checked_tfrecord(as_bytes(file), places[1]).size(), 0U);
}

TEST(TfRecordFrame, EveryFlippedBitAndEveryCutIsNoticed) {
  const std::string whole = two_records();
  for (size_t i = 0; i < whole.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string file = whole;
      file[i] = static_cast<char>(file[i] ^ (1 << bit));
      EXPECT_NE(testing::message_of([&] {
                  for (const TfRecordPlace place : find_tfrecords(as_bytes(file), "f")) checked_tfrecord(as_bytes(file), place);
                }),
                "")
          << "bit " << bit << " of byte " << i;
    }
  }
  for (size_t size = 1; size < whole.size(); ++size) {
    if (size == 5 + kTfRecordFrameBytes) continue;  // ends with a whole record
    EXPECT_CONTAINS(testing::message_of([&] { find_tfrecords(as_bytes(whole).first(size), "f"); }), "truncated");
  }
}

TEST(TfRecordFrame, APlaceThatIsNotInTheFileIsRefused) {
  const std::string file = two_records();
  for (const TfRecordPlace place :
       {TfRecordPlace{1000, 1}, TfRecordPlace{0, ~uint64_t{0}}, TfRecordPlace{12, 25}, TfRecordPlace{~uint64_t{0}, 2}}) {
    EXPECT_CONTAINS(testing::message_of([&] { checked_tfrecord(as_bytes(file), place); }), "the file has 37");
  }
  EXPECT_FALSE(looks_like_tfrecord(as_bytes("II*")));
}

}  // namespace
}  // namespace tessera
