#include "infer/other_images.h"

#include <gtest/gtest.h>

#include "support/messages.h"

namespace tessera {
namespace {

const ImageFacts kDeep{"16-bit", 1, {100}, {4000}};

TEST(OtherImages, ImagesLikeThoseOfTrainingAreFine) {
  EXPECT_EQ(unlike_training(kDeep, {"16-bit", 1, {50}, {9000}}), "");
  EXPECT_EQ(unlike_training({}, {"8-bit", 3, {0}, {255}}), "");  // an older checkpoint
  EXPECT_EQ(unlike_training(kDeep, {}), "");
  EXPECT_EQ(unlike_training({"8-bit", 3, {10}, {250}}, {"8-bit", 3, {0}, {3}}), "");  // a dark photograph
  const ImageFacts mixed{.depth = "8-bit", .channels = 3, .low = {0}, .high = {255}, .some_grey = true};
  EXPECT_EQ(unlike_training(mixed, {"8-bit", 1, {0}, {255}}), "");  // there were such in training
}

TEST(OtherImages, AnotherDepthChannelsOrRangeIsSaid) {
  EXPECT_CONTAINS(unlike_training(kDeep, {"8-bit", 1, {0}, {255}}), "8-bit, the model was trained on 16-bit ones");
  EXPECT_CONTAINS(unlike_training(kDeep, {"16-bit", 3, {100}, {4000}}), "in colour, the model was trained on images grey");
  EXPECT_CONTAINS(unlike_training({"8-bit", 3, {0}, {255}}, {"8-bit", 1, {0}, {255}}), "grey, the model was trained");
  EXPECT_CONTAINS(unlike_training(kDeep, {"16-bit", 1, {100}, {60000}}),
                  "far outside what the model has seen: its values are 100");
  EXPECT_CONTAINS(unlike_training(kDeep, {"16-bit", 1, {0}, {120}}), "nearly black to the model");
}

TEST(OtherImages, EachKindIsSaidOnce) {
  ImageWatch watch(kDeep, 2);
  EXPECT_TRUE(watch.wants(1));
  EXPECT_FALSE(watch.wants(2));
  const ImageFacts bytes{"8-bit", 1, {0}, {255}};
  EXPECT_CONTAINS(watch.look("a.png", bytes), "a.png is 8-bit, the model");
  EXPECT_EQ(watch.look("b.png", bytes), "");
  EXPECT_CONTAINS(watch.look("c.png", {"16-bit", 1, {0}, {120}}), "c.png is nearly black");
  EXPECT_FALSE(ImageWatch({}).wants(0));
}

}  // namespace
}  // namespace tessera
