#include "kernels/pixels/augment_pixels.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "kernels/pixels/normalize_pixels.h"
#include "support/derivative.h"
#include "support/pixel_images.h"

namespace tessera {
namespace {

using testing::channel_numbers;
using testing::images_of;
using testing::largest_difference;
using testing::normalized;

at::Tensor on_device(const at::Tensor& table) {
  return table.to(testing::test_device());
}

// Four results from three images: the last as it is, the first blended with it, a box of the first on the second, and the first
// once more.
std::vector<PixelMix> some_mixes(double height, double width) {
  return {{.own = 2, .partner = 2},
          {.own = 0, .partner = 2, .own_weight = 0.7},
          {.own = 1, .partner = 0, .top = 1, .left = std::floor(width / 3), .bottom = height, .right = std::ceil(width / 2)},
          {.own = 0, .partner = 0}};
}

// Numbers that do not bring values to halves, where float32 and float64 round to different sides.
const std::vector<ColorChange> kChanges = {
    {.brightness = 0.1137, .contrast = 1.3171, .contrast_last = false, .saturation = 1.4143, .hue = 31},
    {.brightness = -0.0713, .contrast = 0.6173, .contrast_last = true, .saturation = 0.5517, .hue = -170},
    {.contrast = 1.437, .contrast_last = true}};

at::Tensor colors_of(double max_value) {
  std::vector<PixelColor> rows;
  for (const ColorChange& change : kChanges) rows.push_back(pixel_color(change, max_value));
  return table_of(rows);
}

// The definition, pixel by pixel in float64: brightness, contrast, hue and saturation through hue sectors, contrast, rounding.
std::vector<double> plain_colors(std::vector<double> v, const ColorChange& change, double max_value, bool bytes) {
  const auto clip = [&](double x) { return bytes ? std::clamp(x, 0.0, 255.0) : x; };
  for (double& x : v) {
    x = clip(x + change.brightness * max_value);
    if (!change.contrast_last) x = clip(x * change.contrast);
  }
  const double high = *std::max_element(v.begin(), v.end()), low = *std::min_element(v.begin(), v.end()), chroma = high - low;
  if (v.size() == 3 && chroma > 0 && high > 0) {
    double sector = high == v[0]   ? (v[1] - v[2]) / chroma
                    : high == v[1] ? 2 + (v[2] - v[0]) / chroma
                                   : 4 + (v[0] - v[1]) / chroma;
    sector += change.hue / 60;
    const double s = std::min(1.0, chroma / high * change.saturation);
    for (size_t c = 0; c < 3; ++c) {
      const double t = std::fmod(5.0 - 2.0 * static_cast<double>(c) + sector + 12, 6.0);
      v[c] = high * (1 - s * std::clamp(std::min(t, 4 - t), 0.0, 1.0));
    }
  }
  for (double& x : v) {
    if (change.contrast_last) x = clip(x * change.contrast);
    if (bytes) x = std::floor(x + 0.5);
  }
  return v;
}

at::Tensor recolored(const at::Tensor& images, double max_value) {
  const at::Tensor result = images.cpu().to(at::kDouble).contiguous();
  const auto channels = static_cast<size_t>(images.size(3));
  const int64_t per_image = result[0].numel();
  for (int64_t at = 0; at < result.numel(); at += images.size(3)) {
    double* const pixel = result.mutable_data_ptr<double>() + at;
    const auto changed = plain_colors({pixel, pixel + channels}, kChanges[static_cast<size_t>(at / per_image)], max_value,
                                      images.scalar_type() == at::kByte);
    std::copy(changed.begin(), changed.end(), pixel);
  }
  return result.to(images.device());
}

// Normalised images, mixed with slices.
at::Tensor mixed(const at::Tensor& images, const std::vector<PixelMix>& mixes, double max_value,
                 const std::vector<double>& mean, const std::vector<double>& std) {
  const at::Tensor x = normalized(images, max_value, mean, std);
  std::vector<at::Tensor> results;
  for (const PixelMix& mix : mixes) {
    const at::Tensor partner = x[static_cast<int64_t>(mix.partner)];
    at::Tensor result = x[static_cast<int64_t>(mix.own)] * mix.own_weight + partner * (1 - mix.own_weight);
    const auto box = [&](const at::Tensor& of) {
      return of.slice(0, static_cast<int64_t>(mix.top), static_cast<int64_t>(mix.bottom))
          .slice(1, static_cast<int64_t>(mix.left), static_cast<int64_t>(mix.right));
    };
    box(result).copy_(box(partner));
    results.push_back(result);
  }
  return at::stack(results).permute({0, 3, 1, 2});
}

// RGB in whole vectors and not, other numbers of channels.
const std::vector<std::vector<int64_t>> kSizes = {{3, 4, 16, 3}, {3, 5, 7, 3}, {3, 3, 9, 1}, {3, 6, 5, 4}, {3, 33, 31, 3}};

TEST(AugmentPixels, MixesAsSlicesDo) {
  for (const auto& sizes : kSizes) {
    for (const at::ScalarType from : {at::kByte, at::kFloat}) {
      const at::Tensor images = images_of(sizes, from);
      const auto mean = channel_numbers(sizes[3], 0.4), std = channel_numbers(sizes[3], 0.2);
      const auto mixes = some_mixes(static_cast<double>(sizes[1]), static_cast<double>(sizes[2]));
      const at::Tensor expected = mixed(images, mixes, 255, mean, std);
      const auto result = [&](at::ScalarType type) {
        return augment_pixels(images, on_device(table_of(mixes)), {}, 255, mean, std, type);
      };
      EXPECT_TRUE(result(at::kFloat).is_contiguous(at::MemoryFormat::ChannelsLast));
      EXPECT_LT(largest_difference(result(at::kDouble), expected), 1e-14);
      EXPECT_LT(largest_difference(result(at::kFloat), expected), 2e-6);
      EXPECT_LT(largest_difference(result(at::kHalf), expected), 3.0 / 2048);
      EXPECT_TRUE(result(at::kBFloat16).equal(result(at::kFloat).to(at::kBFloat16)));
    }
  }
}

// The rounding of bytes may fall on the other side where float64 is within 1e-4 of a half: one level in few values.
TEST(AugmentPixels, ChangesColoursAsDefined) {
  for (const auto& sizes : kSizes) {
    const std::vector<double> mean(static_cast<size_t>(sizes[3]), 0.0), std(mean.size(), 1.0);
    const auto mixes = some_mixes(static_cast<double>(sizes[1]), static_cast<double>(sizes[2]));
    for (const auto& [type, max_value] : {std::pair{at::kByte, 255.0}, std::pair{at::kFloat, 1000.0}}) {
      const at::Tensor images = images_of(sizes, type);
      const auto of_each = std::vector<PixelMix>{{.own = 0, .partner = 0}, {.own = 1, .partner = 1}, {.own = 2, .partner = 2}};
      const auto result = [&](const std::vector<PixelMix>& rows) {
        return augment_pixels(images, on_device(table_of(rows)), on_device(colors_of(max_value)), max_value, mean, std,
                              at::kDouble);
      };
      const at::Tensor each = result(of_each), expected = recolored(images, max_value);
      const at::Tensor gap = (each * max_value - expected.permute({0, 3, 1, 2})).abs();
      if (type == at::kByte) {
        EXPECT_LT(gap.max().item<double>(), 1.001);
        EXPECT_LE(gap.gt(0.01).sum().item<int64_t>(), 1 + images.numel() / 1000);
      } else {
        EXPECT_LT(gap.max().item<double>(), 1e-3);
      }
      // Mixing comes after: the same as mixing images with these colours.
      const at::Tensor changed = (each * max_value).permute({0, 2, 3, 1});
      EXPECT_LT(largest_difference(result(mixes), mixed(changed, mixes, max_value, mean, std)), 1e-12);
    }
  }
}

TEST(AugmentPixels, WithoutMixesAndColoursItNormalises) {
  const at::Tensor images = images_of({3, 8, 8, 3}, at::kByte);
  const at::Tensor table = on_device(table_of(std::vector<PixelMix>{{.own = 1, .partner = 1}, {.own = 2, .partner = 2}}));
  EXPECT_TRUE(augment_pixels(images, table, {}, 255, {0.5}, {0.25}, at::kFloat)
                  .equal(normalize_pixels(images.narrow(0, 1, 2), 255, {0.5}, {0.25}, at::kFloat)));
  EXPECT_EQ(augment_pixels(images, table.narrow(0, 0, 0), {}, 255, {0.5}, {0.25}, at::kFloat).size(0), 0);
}

TEST(AugmentPixels, SaysWhatTablesItExpects) {
  const at::Tensor images = images_of({3, 8, 8, 3}, at::kByte), table = table_of(std::vector<PixelMix>{{}});
  EXPECT_THROW(augment_pixels(images, table.to(at::kFloat), {}, 255, {0.5}, {0.25}, at::kFloat), Error);
  EXPECT_THROW(augment_pixels(images, table.narrow(1, 0, 3), {}, 255, {0.5}, {0.25}, at::kFloat), Error);
  EXPECT_THROW(augment_pixels(images, table, colors_of(255).narrow(0, 0, 2), 255, {0.5}, {0.25}, at::kFloat), Error);
}

}  // namespace
}  // namespace tessera
