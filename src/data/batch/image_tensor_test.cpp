#include "data/batch/image_tensor.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "support/samples.h"

namespace tessera {
namespace {

using testing::numbered_sample;
using testing::pixel;

TEST(ImageTensor, HoldsThePixelsOfBytesAndOfFloats) {
  for (const bool floats : {false, true}) {
    const Image image = numbered_sample({4, 5}, 3, floats).image;
    const at::Tensor pixels = image_tensor(image);
    ASSERT_EQ(pixels.sizes(), (std::vector<int64_t>{1, 4, 5, 3}));
    EXPECT_EQ(pixels.scalar_type(), floats ? at::kFloat : at::kByte);
    EXPECT_EQ(pixels[0][3][2][1].item<double>(), pixel(image, 3, 2, 1));
  }
}

TEST(ImageTensor, ImagesOfABatchStandInTheirOrder) {
  const Image first = numbered_sample({3, 2}, 1).image;
  Image second = first;
  for (uint8_t& value : second.bytes()) value = 255;
  const at::Tensor both = image_batch({&first, &second, &first}, at::kCPU);
  ASSERT_EQ(both.sizes(), (std::vector<int64_t>{3, 3, 2, 1}));
  EXPECT_TRUE(both[0].equal(image_tensor(first)[0]));
  EXPECT_TRUE((both[1] == 255).all().item<bool>());
  EXPECT_TRUE(both[2].equal(both[0]));
}

}  // namespace
}  // namespace tessera
