#include "nn/blocks/conv_norm.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "kernels/features/upconv_concat.h"

namespace tessera {
namespace {

torch::nn::Conv2d conv3x3(int64_t in, int64_t out) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 3).padding(1));
}

at::Tensor channels_last(at::IntArrayRef sizes) {
  return torch::rand(sizes).contiguous(at::MemoryFormat::ChannelsLast);
}

// What a U-Net's decoder does with a skip that went through the state of its segments, which may have cut it out of the graph.
TEST(ConvNorm, RoomIsFoundAgainByTheSkipThatLiesInIt) {
  torch::manual_seed(2);
  torch::nn::Conv2d conv = conv3x3(3, 8);
  BatchNorm2d norm(8);
  const NormPooled made = conv_norm_relu_pool(conv, norm, channels_last({2, 3, 6, 4}), /*before=*/5);
  ASSERT_TRUE(made.concat_buffer.defined());
  for (const at::Tensor& skip : {made.y, made.y.detach()}) {
    const at::Tensor buffer = concat_buffer_around(skip, 5);
    ASSERT_TRUE(buffer.defined());
    EXPECT_EQ(buffer.const_data_ptr(), made.concat_buffer.const_data_ptr());
    EXPECT_EQ(buffer.sizes(), made.concat_buffer.sizes());
    EXPECT_EQ(buffer.strides(), made.concat_buffer.strides());
    EXPECT_FALSE(buffer.requires_grad());
  }
  const at::Tensor x = channels_last({2, 7, 3, 2}), weight = torch::rand({7, 5, 2, 2}), bias = torch::rand({5});
  const at::Tensor copied = upconv2x2_concat(x, weight, bias, made.y.detach().contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(upconv2x2_concat(x, weight, bias, made.y, concat_buffer_around(made.y, 5)).equal(copied));
}

TEST(ConvNorm, OtherTensorsLieInNoRoom) {
  torch::nn::Conv2d conv = conv3x3(3, 8);
  BatchNorm2d norm(8);
  const NormPooled made = conv_norm_relu_pool(conv, norm, channels_last({2, 3, 6, 4}), /*before=*/5);
  EXPECT_FALSE(concat_buffer_around(made.y, 4).defined());
  EXPECT_FALSE(concat_buffer_around(made.y.clone(), 5).defined());
  EXPECT_FALSE(concat_buffer_around(made.y.narrow(0, 0, 1), 5).defined());
  EXPECT_FALSE(concat_buffer_around(channels_last({2, 8, 6, 4}), 5).defined());
  EXPECT_FALSE(concat_buffer_around(torch::rand({2, 8, 6, 4}), 5).defined());
}

}  // namespace
}  // namespace tessera
