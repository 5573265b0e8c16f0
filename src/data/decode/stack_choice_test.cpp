#include "data/decode/stack_choice.h"

#include <gtest/gtest.h>

#include "data/decode/decode.h"
#include "support/messages.h"
#include "support/pillow.h"

namespace tessera {
namespace {

using testing::message_of;

const std::vector<std::string> kNames = {"DAPI", "GFP", "1"};

TEST(StackChoice, NamesComeBeforeNumbersAndCaseDoesNotMatter) {
  EXPECT_EQ(chosen_channels({"GFP", "dapi", "0", "2"}, kNames, 3), (std::vector<int>{1, 0, 0, 2}));
  EXPECT_EQ(chosen_channels({"1"}, kNames, 3), (std::vector<int>{2}));  // its name, not its number
  EXPECT_EQ(chosen_channels({}, kNames, 3), (std::vector<int>{0, 1, 2}));
}

TEST(StackChoice, UnknownChannelsAreAnsweredWithTheKnownOnes) {
  EXPECT_EQ(message_of([] { chosen_channels({"Cy5"}, kNames, 3); }),
            "data.image.channels asks for 'Cy5': the file has 3 channels: 0 DAPI, 1 GFP, 2 1");
  EXPECT_EQ(message_of([] { chosen_channels({"3"}, {}, 3); }),
            "data.image.channels asks for '3': the file has 3 channels: 0 to 2");
  EXPECT_CONTAINS(message_of([] { chosen_channels({"a"}, {"a", "a"}, 2); }), "two channels of the file are called 'a'");
}

TEST(StackChoice, PlanesOfAnAxis) {
  using Kind = PlaneChoice::Kind;
  EXPECT_EQ(chosen_planes({}, 3, "z"), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(chosen_planes({Kind::kMax}, 3, "z"), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(chosen_planes({Kind::kMiddle}, 5, "z"), (std::vector<int>{2}));
  EXPECT_EQ(chosen_planes({Kind::kMiddle}, 4, "z"), (std::vector<int>{2}));
  EXPECT_EQ(chosen_planes({Kind::kOne, 1}, 2, "z"), (std::vector<int>{1}));
  EXPECT_EQ(message_of([] {
              chosen_planes({Kind::kOne, 2}, 2, "z");
            }),
            "data.image.z asks for plane 2: the file has 2, numbered from 0");
}

TEST(StackChoice, ColoursHaveNamesInAnyFile) {
  const auto file = testing::pillow_image("png_rgb");
  const Image whole = decode_image(file, {.channels = 3});
  const Image green = decode_image(file, {.channels = 1, .stack = {.channels = {"green"}}});
  for (size_t i = 0; i < green.count(); ++i) ASSERT_EQ(green.bytes()[i], whole.bytes()[3 * i + 1]);
  // One channel is a grey picture, and so is repeated; two must be what the network sees.
  EXPECT_EQ(decode_image(file, {.channels = 3, .stack = {.channels = {"green"}}}).bytes()[2], whole.bytes()[1]);
  EXPECT_EQ(decode_image(file, {.channels = 2, .stack = {.channels = {"blue", "red"}}}).bytes()[0], whole.bytes()[2]);
  EXPECT_CONTAINS(message_of([&] {
                    decode_image(file, {.channels = 3, .stack = {.channels = {"blue", "red"}}});
                  }),
                  "expected 3 channels");
}

TEST(StackChoice, PalettesAreLookedUpFirst) {
  const auto file = testing::pillow_image("png_p");
  const Image whole = decode_image(file, {.channels = 3});
  EXPECT_EQ(decode_image(file, {.channels = 1, .stack = {.channels = {"blue"}}}).bytes()[4], whole.bytes()[14]);
}

TEST(StackChoice, AFileWithoutPlanesHasOne) {
  const auto file = testing::pillow_image("png_rgb");
  EXPECT_NO_THROW(decode_image(file, {.stack = {.z = {PlaneChoice::Kind::kMiddle}}}));
  EXPECT_CONTAINS(message_of([&] {
                    decode_image(file, {.stack = {.t = {PlaneChoice::Kind::kOne, 3}}});
                  }),
                  "data.image.t asks for plane 3: the file has 1");
}

TEST(StackChoice, MessagesHaveLinesToPaste) {
  const StackShape two{2, 5, 1, {"DAPI", "GFP"}};
  EXPECT_EQ(contents_of(two), "2 channels (DAPI, GFP) x 5 planes of z");
  EXPECT_EQ(settings_for(two, 3), "data.image.z=middle data.channels=2");
  EXPECT_EQ(settings_for(two, 1), "data.image.z=middle data.channels=2 or data.image.channels=[DAPI]");
  EXPECT_EQ(settings_for({4, 1, 3, {"Alexa 488", "a", "b", "c"}}, 3),
            "data.image.t=0 data.channels=4 or data.image.channels=[0,1,2]");
  EXPECT_EQ(settings_for({1, 7, 1, {}}, 3), "data.image.z=middle");
}

}  // namespace
}  // namespace tessera
