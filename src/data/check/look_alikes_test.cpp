#include "data/check/look_alikes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/rng.h"
#include "data/transforms/resample.h"

namespace tessera {
namespace {

// A few soft blobs; other ones for every seed.
Image picture(uint64_t seed, int side = 96) {
  Image image(side, side, 3);
  Rng rng(seed, Stream::kSelect, 0);
  struct Blob {
    double y, x, r, v;
  };
  std::vector<Blob> blobs;
  for (int i = 0; i < 12; ++i) blobs.push_back({rng.uniform(), rng.uniform(), 0.05 + 0.15 * rng.uniform(), rng.uniform()});
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      double v = 0.1;
      for (const Blob& b : blobs) {
        const double d = std::hypot((y + 0.5) / side - b.y, (x + 0.5) / side - b.x) / b.r;
        v += b.v * std::exp(-d * d);
      }
      for (int c = 0; c < 3; ++c)
        image.bytes()[static_cast<size_t>((y * side + x) * 3 + c)] = static_cast<uint8_t>(std::min(255.0, 150 * v));
    }
  }
  return image;
}

std::vector<LookAlike> alike(const std::vector<Image>& images) {
  std::vector<PictureHash> hashes;
  for (const Image& image : images) hashes.push_back(hash_picture(image));
  std::vector<const PictureHash*> pointers;
  for (const PictureHash& hash : hashes) pointers.push_back(&hash);
  return find_look_alikes(pointers);
}

TEST(LookAlikes, ScaledLighterAndNoisyCopiesAreFound) {
  const Image original = picture(1);
  Image lighter = original, noisy = original;
  for (uint8_t& v : lighter.bytes()) v = static_cast<uint8_t>(std::min(255, v * 9 / 10 + 20));
  for (size_t i = 0; i < noisy.bytes().size(); ++i)
    noisy.bytes()[i] = static_cast<uint8_t>(std::clamp(noisy.bytes()[i] + static_cast<int>(i * 7 % 9) - 4, 0, 255));
  const auto found = alike({original, picture(2), resize_image(original, {64, 70}), picture(3), lighter, noisy});
  ASSERT_EQ(found.size(), 6U);
  EXPECT_EQ(found[0].first, 0U);
  EXPECT_EQ(found[0].second, 2U);
  EXPECT_EQ(found.back().first, 4U);
  EXPECT_EQ(found.back().second, 5U);
}

TEST(LookAlikes, OtherPicturesOfOneKindAreNot) {
  std::vector<Image> images;
  for (uint64_t seed = 0; seed < 300; ++seed) images.push_back(picture(seed, 48));
  EXPECT_TRUE(alike(images).empty());
}

TEST(LookAlikes, ManyOfOneHashStayBoundedAndNullsAreAlikeToNone) {
  const PictureHash one = hash_picture(picture(1));
  std::vector<const PictureHash*> all(3000, &one);
  all[5] = nullptr;
  const auto found = find_look_alikes(all);
  EXPECT_GE(found.size(), 2998U);
  EXPECT_LE(found.size(), 3000U * 256);
  for (const LookAlike& pair : found) ASSERT_TRUE(pair.first < pair.second && pair.first != 5 && pair.second != 5);
}

TEST(PictureHash, ImagesOfAnySizeDepthAndNumberOfChannels) {
  for (const int channels : {1, 2, 3, 4, 7}) {
    Image tiny(1, 3, channels);
    EXPECT_EQ(hash_picture(tiny).contrast, 0);
  }
  Image deep(40, 40, 1);
  deep.max_value = 65535;
  std::vector<float> values(1600);
  for (size_t i = 0; i < values.size(); ++i) values[i] = i < 800 ? 0 : 65535;
  deep.pixels = values;
  EXPECT_NEAR(hash_picture(deep).contrast, 0.5, 1e-6);
}

}  // namespace
}  // namespace tessera
