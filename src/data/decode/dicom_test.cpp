#include "data/decode/dicom.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "data/decode/dicom_rle.h"
#include "support/handmade_files.h"
#include "support/messages.h"
#include "support/pillow.h"

namespace tessera {
namespace {

using testing::Bytes;
using testing::formats_file;
using testing::message_of;

// Explicit VR, little-endian: the 16-bit value of a tag.
Bytes with_number(Bytes file, uint16_t group, uint16_t element, uint16_t value) {
  const Bytes head = {static_cast<uint8_t>(group),
                      static_cast<uint8_t>(group >> 8),
                      static_cast<uint8_t>(element),
                      static_cast<uint8_t>(element >> 8),
                      'U',
                      'S',
                      2,
                      0};
  const auto found = std::search(file.begin(), file.end(), head.begin(), head.end());
  EXPECT_NE(found, file.end());
  found[8] = static_cast<uint8_t>(value), found[9] = static_cast<uint8_t>(value >> 8);
  return file;
}

Bytes with_text(Bytes file, const std::string& from, const std::string& to) {
  EXPECT_EQ(from.size(), to.size());
  const auto found = std::search(file.begin(), file.end(), from.begin(), from.end());
  EXPECT_NE(found, file.end());
  std::copy(to.begin(), to.end(), found);
  return file;
}

TEST(Dicom, WhatIsNotReadIsSaid) {
  const auto message = [](const Bytes& file) { return message_of([&] { decode_dicom(file); }); };
  EXPECT_CONTAINS(message(with_text(formats_file("dicom", "dicom_jpeg"), "1.2.4.50", "1.2.4.70")),
                  "transfer syntax 1.2.840.10008.1.2.4.70: expected no compression, run-length, JPEG baseline or JPEG 2000");
  EXPECT_CONTAINS(message(with_text(formats_file("dicom", "dicom_8"), "MONOCHROME2", "PALETTECOLO")),
                  "DICOM is PALETTECOLO of 1 samples");
  EXPECT_CONTAINS(message(with_number(formats_file("dicom", "dicom_16"), 0x28, 0x100, 1)), "DICOM stores 16 bits in 1");
  EXPECT_CONTAINS(message(with_number(formats_file("dicom", "dicom_16"), 0x28, 0x102, 40)), "bit 40 as the highest");
  EXPECT_CONTAINS(message(with_number(formats_file("dicom", "dicom_16"), 0x28, 0x10, 60000)), "DICOM is truncated: frame 0");
  EXPECT_CONTAINS(message(with_number(formats_file("dicom", "dicom_16"), 0x28, 0x10, 0)), "x 0 pixels");
  EXPECT_CONTAINS(message(with_number(formats_file("dicom", "dicom_rle"), 0x28, 0x10, 60000)), "do not fit into");
  EXPECT_CONTAINS(message(with_number(formats_file("dicom", "dicom_jpeg"), 0x28, 0x10, 7)), "its compressed frame has");
}

// Puts bytes before the first place where others stand.
Bytes with_inserted(Bytes file, const Bytes& before, const Bytes& more) {
  const auto found = std::search(file.begin(), file.end(), before.begin(), before.end());
  EXPECT_NE(found, file.end());
  file.insert(found, more.begin(), more.end());
  return file;
}

TEST(Dicom, FramesMustHaveOneDepth) {
  // Behind the frame of 16 bits another one of 8.
  Bytes frame = formats_file("pillow", "jp2_grey"), item = {0xFE, 0xFF, 0x00, 0xE0};
  if (frame.size() % 2 != 0) frame.push_back(0);
  for (int shift = 0; shift < 32; shift += 8) item.push_back(static_cast<uint8_t>(frame.size() >> shift));
  testing::append(item, frame);
  Bytes file = with_inserted(formats_file("dicom", "dicom_jpeg2000"), {0xFE, 0xFF, 0xDD, 0xE0}, item);
  file = with_inserted(file, {0x28, 0, 0x10, 0, 'U', 'S'}, {0x28, 0, 0x08, 0, 'I', 'S', 2, 0, '2', ' '});
  for (const auto kind : {PlaneChoice::Kind::kAll, PlaneChoice::Kind::kMax})
    EXPECT_CONTAINS(message_of([&] { decode_dicom(file, kMaxPixels, {.z = {.kind = kind}}); }),
                    "DICOM has frames of 8 bits beside deeper ones");
}

TEST(Dicom, BitsMayLieHighInTheirWords) {
  // 12 bits in the upper part of 16, as old scanners store them.
  Bytes file = with_number(formats_file("dicom", "dicom_12_explicit"), 0x28, 0x102, 15);
  const Raster low = decode_dicom(formats_file("dicom", "dicom_12_explicit")), high = decode_dicom(file);
  EXPECT_EQ(high.image.floats()[5], static_cast<float>(static_cast<int>(low.image.floats()[5]) >> 4));
}

TEST(Dicom, RunsAndLiteralsOfItsRunLengths) {
  Bytes frame(64, 0);
  frame[0] = 2, frame[4] = 64, frame[8] = 68;  // two segments: high bytes, then low ones
  testing::append(frame, {0xFE, 7, 128, 0, 2, 1, 2, 3});
  EXPECT_EQ(unpack_dicom_rle(frame, 3, 1, 2), (Bytes{1, 7, 2, 7, 3, 7}));
  EXPECT_CONTAINS(message_of([&] { unpack_dicom_rle(frame, 4, 1, 2); }), "DICOM is truncated");
  EXPECT_CONTAINS(message_of([&] { unpack_dicom_rle(frame, 3, 3, 1); }), "2 run-length segments: expected 3");
}

}  // namespace
}  // namespace tessera
