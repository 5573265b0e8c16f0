#include "data/batch/stored_pixels.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "core/error.h"
#include "support/pillow.h"

namespace tessera {
namespace {

at::Tensor of(const std::vector<double>& values, const std::vector<int64_t>& sizes, at::ScalarType type) {
  return torch::tensor(values, torch::kDouble).to(type).view(sizes);
}

TEST(StoredPixels, TheTensorIsTheImageAndKeepsIt) {
  auto image = std::make_shared<StoredImage>(Image(1, 2, 1));
  image->pixels = std::vector<uint16_t>{7, 65535};
  const void* const pixels = std::get<std::vector<uint16_t>>(image->pixels).data();
  const at::Tensor stored = stored_tensor(image);
  image.reset();
  EXPECT_EQ(stored.const_data_ptr(), pixels);
  EXPECT_EQ(stored.scalar_type(), at::kUInt16);
  EXPECT_TRUE(network_pixels(stored, 1).equal(of({7, 65535}, {1, 1, 2, 1}, at::kFloat)));
}

TEST(StoredPixels, GreyIsRepeatedAndAlphaDropped) {
  const at::Tensor grey = of({1, 2}, {1, 1, 2, 1}, at::kByte), rgb = of({1, 1, 1, 2, 2, 2}, {1, 1, 2, 3}, at::kByte);
  EXPECT_TRUE(network_pixels(grey, 3).equal(rgb));
  EXPECT_TRUE(network_pixels(of({1, 9, 2, 9}, {1, 1, 2, 2}, at::kByte), 3).equal(rgb));
  EXPECT_TRUE(network_pixels(of({1, 9, 2, 9}, {1, 1, 2, 2}, at::kByte), 1).equal(grey));
  EXPECT_TRUE(network_pixels(of({1, 1, 1, 9, 2, 2, 2, 9}, {1, 1, 2, 4}, at::kByte), 3).equal(rgb));
  EXPECT_EQ(network_pixels(rgb, 3).data_ptr(), rgb.data_ptr());  // nothing to do, nothing copied
}

// Every file of the Pillow fixtures, with one channel and with three.
TEST(StoredPixels, AreThoseOfTheConvertedImage) {
  const auto fixture = testing::load_fixture("pillow/decode.json");
  int kept = 0;
  for (const char* group : {"images", "deep"}) {
    for (const auto& entry : fixture.at(group)) {
      const auto bytes = testing::numbers<uint8_t>(entry.at("file"));
      for (const int channels : {1, 3}) {
        const DecodeOptions options{.channels = channels};
        Image plain;
        try {
          plain = decode_image(bytes, options);
        } catch (const Error&) {
          continue;  // a stack of channels that are no colours
        }
        const auto stored = std::make_shared<const StoredImage>(decode_stored(bytes, options));
        kept += stored->is_words() || stored->channels != channels ? 1 : 0;
        EXPECT_EQ(stored->max_value, plain.max_value);
        const at::Tensor expected = stored_tensor(std::make_shared<const StoredImage>(plain));
        EXPECT_TRUE(network_pixels(stored_tensor(stored), channels).equal(expected)) << entry.at("name") << ", " << channels;
      }
    }
  }
  EXPECT_GT(kept, 20);  // that were left as they are in the file
}

}  // namespace
}  // namespace tessera
