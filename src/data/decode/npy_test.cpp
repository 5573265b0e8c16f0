#include "data/decode/npy.h"

#include <gtest/gtest.h>

#include <cstring>

#include "support/handmade_files.h"
#include "support/messages.h"

namespace tessera {
namespace {

using testing::Bytes;
using testing::message_of;

template <class T>
Bytes npy_file(const std::string& type, const std::string& shape, const std::vector<T>& values) {
  const std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }\n";
  Bytes file = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, static_cast<uint8_t>(header.size()), 0};
  file.insert(file.end(), header.begin(), header.end());
  const size_t start = file.size();
  file.resize(start + values.size() * sizeof(T));
  std::memcpy(file.data() + start, values.data(), values.size() * sizeof(T));
  return file;
}

TEST(Npy, TheShorterOuterAxisIsThatOfChannels) {
  const std::vector<uint8_t> values = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  EXPECT_EQ(decode_npy(npy_file("|u1", "2, 2, 3", values)).image.size(), (Size{2, 3}));
  EXPECT_EQ(decode_npy(npy_file("|u1", "2, 2, 3", values)).image.bytes(), (Bytes{1, 7, 2, 8, 3, 9, 4, 10, 5, 11, 6, 12}));
  EXPECT_EQ(decode_npy(npy_file("|u1", "3, 2, 2", values)).image.size(), (Size{3, 2}));
  EXPECT_EQ(decode_npy(npy_file("|u1", "2, 3, 2", values)).image.bytes(), values);  // equal: the last
  EXPECT_EQ(decode_npy(npy_file("|u1", "1, 3, 4", values)).kind, ColorKind::kGrey);
}

TEST(Npy, ShapesAndTypesThatAreNoImage) {
  const std::vector<uint8_t> four = {1, 2, 3, 4};
  EXPECT_CONTAINS(message_of([&] { decode_npy(npy_file("|u1", "4,", four)); }), "NumPy file has the shape (4)");
  EXPECT_CONTAINS(message_of([&] { decode_npy(npy_file("|u1", "1, 2, 2, 1", four)); }), "shape (1, 2, 2, 1): expected (height");
  EXPECT_CONTAINS(message_of([&] { decode_npy(npy_file("|u1", "0, 4", std::vector<uint8_t>{})); }), "4 x 0 pixels");
  EXPECT_CONTAINS(message_of([&] { decode_npy(npy_file<int64_t>("<i8", "1, 1", {1})); }), "NumPy file holds int64");
  EXPECT_CONTAINS(message_of([&] { decode_npy(npy_file<uint16_t>(">u2", "1, 1", {1})); }), "save little-endian");
  EXPECT_CONTAINS(message_of([&] { decode_npy(npy_file("|u1", "300, 300, 300", four)); }), "its shape needs");
  // Found by fuzzing: the product overflowed before it was looked at.
  EXPECT_CONTAINS(message_of([&] { decode_npy(npy_file("|u1", "33333339, 33333333333333", four)); }), "impossible shape");
}

TEST(Npy, LabelsAreWholeNumbersThatFitInto16Bits) {
  EXPECT_EQ(decode_npy_labels(npy_file<int64_t>("<i8", "1, 3", {0, 7, 255})).bits, 8);
  EXPECT_EQ(decode_npy_labels(npy_file<int32_t>("<i4", "1, 3", {0, 7, 256})).bits, 16);
  EXPECT_CONTAINS(message_of([&] {
                    decode_npy_labels(npy_file<int32_t>("<i4", "2, 2", {0, 1, 2, -1}));
                  }),
                  "label -1 at (y 1, x 1): expected 0 to 65535; store 255");
  EXPECT_CONTAINS(message_of([&] { decode_npy_labels(npy_file<uint32_t>("<u4", "1, 2", {0, 65536})); }), "label 65536");
  EXPECT_CONTAINS(message_of([&] { decode_npy_labels(npy_file<float>("<f4", "1, 1", {1})); }), "a NumPy file of float32");
}

}  // namespace
}  // namespace tessera
