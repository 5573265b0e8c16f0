#include "data/decode/tiff_layout.h"

#include <gtest/gtest.h>

#include "data/decode/decode.h"
#include "support/messages.h"
#include "support/pillow.h"

namespace tessera {
namespace {

using testing::formats_file;
using testing::message_of;

std::string ome(const std::string& pixels, const std::string& inside, const std::string& root = "OME") {
  return "<?xml version=\"1.0\"?><" + root + " UUID=\"urn:uuid:1\"><Image ID=\"Image:0\"><Pixels " + pixels + ">" + inside +
         "</Pixels></Image></" + root + ">";
}

TEST(TiffLayout, PlanesFollowTheOrderOfDimensions) {
  const auto layout = ome_layout(ome("DimensionOrder=\"XYZCT\" SizeC=\"2\" SizeZ=\"3\" SizeT=\"1\"", "<TiffData/>"), 1, 6);
  ASSERT_TRUE(layout.has_value());
  EXPECT_EQ(layout->page(0, 2, 0), 2);
  EXPECT_EQ(layout->page(1, 0, 0), 3);
  EXPECT_TRUE(layout->fits(6));
  EXPECT_FALSE(layout->fits(7));
}

TEST(TiffLayout, BlocksOfPlanesStartWhereTheySay) {
  const auto layout = ome_layout(
      ome("DimensionOrder=\"XYCZT\" SizeC=\"2\" SizeZ=\"2\" SizeT=\"1\"",
          "<Channel Name=\"a\"/><Channel/><TiffData FirstZ=\"1\" IFD=\"0\" PlaneCount=\"2\"/><TiffData IFD=\"5\"/>", "ome:OME"),
      1, 6);
  ASSERT_TRUE(layout.has_value());
  EXPECT_EQ(layout->names, (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(layout->pages, (std::vector<int64_t>{5, -1, 0, 1}));
  EXPECT_FALSE(layout->fits(6));
  EXPECT_CONTAINS(message_of([&] { layout->page(1, 0, 0); }), "no page for channel 1, z 0, t 0");
}

TEST(TiffLayout, PlanesOfOtherFilesAreNotHere) {
  const auto layout = ome_layout(ome("DimensionOrder=\"XYCZT\" SizeC=\"2\" SizeZ=\"1\" SizeT=\"1\"",
                                     "<TiffData IFD=\"0\"><UUID FileName=\"a.tif\">urn:uuid:1</UUID></TiffData>"
                                     "<TiffData FirstC=\"1\" IFD=\"0\"><UUID FileName=\"b.tif\">urn:uuid:2</UUID></TiffData>"),
                                 1, 1);
  ASSERT_TRUE(layout.has_value());
  EXPECT_EQ(layout->page(0, 0, 0), 0);
  EXPECT_CONTAINS(message_of([&] { layout->page(1, 0, 0); }), "it may lie in the file b.tif");
}

TEST(TiffLayout, WhatMakesNoSenseIsNoLayout) {
  EXPECT_FALSE(ome_layout("a picture of OME <by hand>", 1, 1));
  EXPECT_FALSE(ome_layout(ome("DimensionOrder=\"XYCCC\"", ""), 1, 1));
  EXPECT_FALSE(ome_layout(ome("SizeC=\"-3\"", ""), 1, 1));
  EXPECT_FALSE(ome_layout(ome("SizeC=\"999999999999\" SizeZ=\"999999999999\" SizeT=\"999999999999\"", ""), 1, 1));
  EXPECT_FALSE(ome_layout(ome("SizeC=\"1\"", ""), 3, 1));
}

TEST(TiffLayout, ChannelsThatDoNotFitAreNamedWithALineToPaste) {
  EXPECT_EQ(message_of([] { decode_image(formats_file("stacks", "ome_two_channels"), {.channels = 3}); }),
            "expected 3 channels (data.channels), the file gives 2: 2 channels (DAPI, GFP); set data.channels=2");
  EXPECT_EQ(message_of([] { decode_image(formats_file("stacks", "ome_zcyx_all"), {.channels = 1}); }),
            "expected 1 channels (data.channels), the file gives 10: 2 channels (DAPI, GFP) x 5 planes of z; set "
            "data.image.z=middle data.channels=2 or data.image.channels=[DAPI]");
  EXPECT_CONTAINS(message_of([] {
                    decode_image(formats_file("stacks", "ome_two_channels"), {.channels = 1, .stack = {.channels = {"Cy5"}}});
                  }),
                  "asks for 'Cy5': the file has 2 channels: 0 DAPI, 1 GFP");
}

TEST(TiffLayout, NumbersChooseAmongPagesThatNothingExplains) {
  const auto file = testing::pillow_file("decode", "stacks", "tiff_pages");
  const Image all = decode_image(file, {.channels = 5});
  const Image two = decode_image(file, {.channels = 2, .stack = {.channels = {"3", "0"}}});
  for (size_t i = 0; i < two.count() / 2; ++i) {
    ASSERT_EQ(two.bytes()[2 * i], all.bytes()[5 * i + 3]);
    ASSERT_EQ(two.bytes()[2 * i + 1], all.bytes()[5 * i]);
  }
}

TEST(TiffLayout, APageWithOtherSamplesThanTheMetadataCountedIsRefused) {
  const auto file = formats_file("forged", "ome_other_samples");
  EXPECT_CONTAINS(message_of([&] { decode_image(file, {.channels = 1, .stack = {.channels = {"2"}}}); }),
                  "its first plane lies on a page of 1 channels, others have 3");
}

TEST(TiffLayout, AStackOfOneDirectoryThatIsCutIsRefused) {
  auto file = formats_file("stacks", "imagej_one_directory_little");
  file.resize(file.size() - 40);
  EXPECT_CONTAINS(message_of([&] { decode_image(file, {.channels = 8}); }), "TIFF is truncated: plane 7");
}

}  // namespace
}  // namespace tessera
