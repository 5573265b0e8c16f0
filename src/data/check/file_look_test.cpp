#include "data/check/file_look.h"

#include <gtest/gtest.h>

#include "data/decode/png_writer.h"
#include "support/handmade_files.h"

namespace tessera {
namespace {

using testing::append;
using testing::Bytes;

// An EXIF block, big-endian, that holds an orientation alone.
Bytes exif(uint8_t orientation) {
  return {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0, 0, 0, 0, 0};
}

Bytes jpeg(const Bytes& app1, uint8_t components) {
  Bytes file = {0xFF, 0xD8, 0xFF, 0xE1, 0, static_cast<uint8_t>(app1.size() + 8), 'E', 'x', 'i', 'f', 0, 0};
  append(file, app1);
  append(file, {0xFF, 0xFF, 0xC0, 0, 11, 8, 0, 4, 0, 4, components, 1, 0x11, 0, 0xFF, 0xDA, 0, 8});
  return file;
}

TEST(FileLook, TellsTheFormatByTheBytesAndWhatTheNameSays) {
  const Bytes png = encode_png(Image(2, 3, 3));
  EXPECT_EQ(look_at_file(png, "a.png").format, "PNG");
  EXPECT_EQ(look_at_file(png, "a.PNG").named, "");
  EXPECT_EQ(look_at_file(png, "day/a.JPG").named, "JPEG");
  EXPECT_EQ(look_at_file(png, "shard.tar, member 3").named, "");
  EXPECT_EQ(look_at_file(Bytes{'<', 'h', 't'}, "a.png").format, "");
  EXPECT_EQ(look_at_file(Bytes{}, "a.png").format, "");
}

TEST(FileLook, OrientationAndInksOfAJpeg) {
  const FileLook look = look_at_file(jpeg(exif(6), 4), "a.jpg");
  EXPECT_EQ(look.orientation, 6);
  EXPECT_TRUE(look.cmyk);
  EXPECT_FALSE(look_at_file(jpeg(exif(1), 3), "a.jpg").cmyk);
}

TEST(FileLook, OrientationAndFramesOfAPng) {
  Bytes extra = testing::png_chunk("acTL", {0, 0, 0, 2, 0, 0, 0, 0});
  append(extra, testing::png_chunk("eXIf", exif(8)));
  const FileLook look = look_at_file(testing::handmade_png(testing::png_header(1, 1, 8, 0), {0, 7}, extra), "a.png");
  EXPECT_EQ(look.orientation, 8);
  EXPECT_TRUE(look.animated);
  const Bytes one = testing::png_chunk("acTL", {0, 0, 0, 1, 0, 0, 0, 0});
  EXPECT_FALSE(look_at_file(testing::handmade_png(testing::png_header(1, 1, 8, 0), {0, 7}, one), "a.png").animated);
}

TEST(FileLook, FramesAndOrientationOfAWebp) {
  Bytes file = {'R', 'I', 'F', 'F', 60, 0, 0, 0,   'W', 'E', 'B', 'P', 'A', 'N', 'I',
                'M', 1,   0,   0,   0,  9, 0, 'E', 'X', 'I', 'F', 26,  0,   0,   0};
  append(file, exif(3));
  const FileLook look = look_at_file(file, "a.webp");
  EXPECT_TRUE(look.animated);
  EXPECT_EQ(look.orientation, 3);
}

// Whatever is cut off or says that it is longer than the file ends the look.
TEST(FileLook, AnyBeginningOfAFileIsSafe) {
  Bytes png = testing::handmade_png(testing::png_header(1, 1, 8, 0), {0, 7}, testing::png_chunk("eXIf", exif(8)));
  for (const Bytes& whole : {jpeg(exif(6), 4), png}) {
    for (size_t length = 0; length <= whole.size(); ++length) {
      const Bytes part(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length));
      const FileLook look = look_at_file(part, "a");
      EXPECT_TRUE(look.orientation >= 1 && look.orientation <= 8);
    }
  }
  png[8] = 0xFF;
  EXPECT_EQ(look_at_file(png, "a").orientation, 1);
}

}  // namespace
}  // namespace tessera
