// The fused losses where logits have the labels' own size: every layout, number of classes and length of the last tile that
// their kernels tell apart.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>

#include "kernels/loss/upsample_loss.h"
#include "support/derivative.h"
#include "support/test_device.h"

namespace tessera {
namespace {

using testing::Derivative;
using testing::differentiate;
using testing::largest_difference;
using testing::test_device;

enum class Layout { kPlanes, kClassesInside, kPadded, kShifted, kCutColumns };
constexpr Layout kLayouts[] = {Layout::kPlanes, Layout::kClassesInside, Layout::kPadded, Layout::kShifted, Layout::kCutColumns};

// (2, classes, height, width) with the strides of `layout`.
at::Tensor logits_in(Layout layout, int64_t classes, int64_t height, int64_t width, at::ScalarType type) {
  at::manual_seed(classes * 10 + width);
  const at::Tensor values = (3 * at::randn({2, classes, height, width}, at::kDouble)).to(test_device(), type);
  if (layout == Layout::kPlanes) return values;
  const int64_t pitch = layout == Layout::kPadded ? (classes + 8) / 8 * 8 : layout == Layout::kShifted ? classes + 3 : classes;
  const int64_t columns = layout == Layout::kCutColumns ? width + 3 : width;
  // The numbers around the logits must not be read, or must not matter.
  const at::Tensor wide = at::full({2, height, columns, pitch}, NAN, values.options()).permute({0, 3, 1, 2});
  const at::Tensor logits = wide.narrow(1, layout == Layout::kShifted ? 3 : 0, classes).narrow(3, columns - width, width);
  return logits.copy_(values);
}

at::Tensor labels_for(const at::Tensor& logits, int64_t seed = 0) {
  at::manual_seed(seed + logits.size(2));
  const at::Tensor labels = at::randint(0, logits.size(1), {logits.size(0), logits.size(2), logits.size(3)}, at::kShort);
  return labels.masked_fill(at::rand(labels.sizes()) < 0.2, kIgnoreLabel).to(test_device());
}

at::Tensor plain_cross_entropy(const at::Tensor& x, const at::Tensor& labels, const CrossEntropyOptions& options) {
  const at::Tensor weights =
      options.class_weights.defined() ? options.class_weights.to(x.device(), x.scalar_type()) : at::Tensor();
  const auto of = [&](const at::Tensor& y) {
    return at::cross_entropy_loss(x, y.to(at::kLong), weights, at::Reduction::None, options.ignore, options.label_smoothing);
  };
  if (!options.other_labels.defined()) return of(labels).sum();
  const at::Tensor mix_weight = options.mix_weight.to(x.device()).view({-1, 1, 1});
  return (mix_weight * of(labels) + (1 - mix_weight) * of(options.other_labels)).sum();
}

at::Tensor plain_sums(const at::Tensor& x, const at::Tensor& labels) {
  const at::Tensor counted = labels.ne(kIgnoreLabel).unsqueeze(1);
  const at::Tensor p = x.softmax(1) * counted;
  const at::Tensor one_hot = at::one_hot(labels.to(at::kLong).clamp_min(0), x.size(1)).permute({0, 3, 1, 2}) * counted;
  return at::stack({(p * one_hot).sum({0, 2, 3}), p.sum({0, 2, 3})});
}

// Pixels of less than a warp, of a tile and a bit, of an odd number; classes of every width of reading, and too many.
struct Size {
  int64_t classes, height, width;
};
std::ostream& operator<<(std::ostream& out, const Size& s) {
  return out << s.classes << " classes, " << s.height << " x " << s.width;
}
const Size kSizes[] = {{1, 3, 5},    {2, 9, 31},   {4, 16, 8},   {6, 3, 3},    {8, 5, 27},   {16, 11, 13},  {19, 12, 11},
                       {150, 7, 19}, {151, 6, 11}, {152, 3, 45}, {383, 2, 17}, {766, 2, 17}, {1000, 3, 11}, {3500, 1, 5}};

template <class Work>
void for_each_case(Work&& work) {
  for (const Size& s : kSizes) {
    for (const Layout layout : kLayouts) {
      std::ostringstream name;
      name << s << ", layout " << static_cast<int>(layout);
      SCOPED_TRACE(name.str());
      work([&](at::ScalarType type) { return logits_in(layout, s.classes, s.height, s.width, type); });
    }
  }
}

TEST(PixelwiseLoss, CrossEntropyEqualsPlainOps) {
  for_each_case([](auto&& logits_of) {
    for (const auto type : {at::kDouble, at::kFloat}) {
      const at::Tensor logits = logits_of(type), labels = labels_for(logits);
      CrossEntropyOptions all;
      all.class_weights = at::rand({logits.size(1)}, at::kDouble) + 0.5;
      all.label_smoothing = 0.1;
      all.other_labels = labels_for(logits, 99);
      all.mix_weight = at::rand({2}, at::kDouble);
      for (const CrossEntropyOptions& options : {CrossEntropyOptions(), all}) {
        const Derivative fused =
            differentiate(logits, [&](const at::Tensor& x) { return 0.25 * upsample_cross_entropy(x, labels, options); });
        const Derivative plain = differentiate(
            logits.to(at::kDouble), [&](const at::Tensor& x) { return 0.25 * plain_cross_entropy(x, labels, options); });
        const double tolerance = type == at::kDouble ? 1e-11 : 1e-6;
        EXPECT_LT(largest_difference(fused.value, plain.value), tolerance * std::max(1.0, plain.value.item<double>()));
        EXPECT_LT(largest_difference(fused.gradient, plain.gradient), 3 * tolerance);
      }
    }
  });
}

// The kernels compute in float32, in an order that is the same for every layout and type.
TEST(PixelwiseLoss, HalfPrecisionIsFloat32Rounded) {
  for_each_case([](auto&& logits_of) {
    for (const auto type : {at::kBFloat16, at::kHalf}) {
      const at::Tensor logits = logits_of(type), labels = labels_for(logits);
      if (logits.size(1) > 500) continue;  // in float32 these do not fit into a tile
      const auto loss = [&](const at::Tensor& x) { return upsample_cross_entropy(x, labels); };
      const Derivative half = differentiate(logits, loss), whole = differentiate(logits.to(at::kFloat), loss);
      EXPECT_TRUE(half.value.equal(whole.value));
      EXPECT_TRUE(half.gradient.equal(whole.gradient.to(type)));
      const Derivative again = differentiate(logits, loss);
      EXPECT_TRUE(half.value.equal(again.value) && half.gradient.equal(again.gradient));
    }
  });
}

TEST(PixelwiseLoss, SoftmaxSumsEqualPlainOps) {
  for_each_case([](auto&& logits_of) {
    for (const auto type : {at::kDouble, at::kFloat, at::kBFloat16}) {
      const at::Tensor logits = logits_of(type), labels = labels_for(logits);
      const at::Tensor grad_out = at::randn({2, logits.size(1)}, at::kDouble).to(test_device());
      const auto sums = [&](const at::Tensor& x) { return upsample_softmax_sums(x, labels); };
      const Derivative fused = differentiate(logits, sums, grad_out), again = differentiate(logits, sums, grad_out);
      const Derivative plain = differentiate(
          logits.to(at::kDouble), [&](const at::Tensor& x) { return plain_sums(x, labels); }, grad_out);
      const double tolerance = type == at::kDouble ? 1e-11 : 3e-6, rounded = type == at::kBFloat16 ? 1e-2 : tolerance;
      EXPECT_LT(largest_difference(fused.value, plain.value), tolerance * std::max(1.0, plain.value.max().item<double>()));
      EXPECT_LT(largest_difference(fused.gradient, plain.gradient),
                rounded * std::max(1.0, plain.gradient.abs().max().item<double>()));
      EXPECT_TRUE(fused.value.equal(again.value) && fused.gradient.equal(again.gradient));
    }
  });
}

// Whatever their logits are.
TEST(PixelwiseLoss, IgnoredPixelsHaveNoGradient) {
  for_each_case([](auto&& logits_of) {
    const at::Tensor logits = logits_of(at::kBFloat16), labels = labels_for(logits);
    const at::Tensor ignored = labels.eq(kIgnoreLabel).unsqueeze(1);
    logits.masked_fill_(ignored, 3e4);
    const Derivative loss = differentiate(logits, [&](const at::Tensor& x) { return upsample_cross_entropy(x, labels); });
    EXPECT_LT(loss.value.item<double>(), 30.0 * static_cast<double>(labels.numel()));
    EXPECT_EQ(loss.gradient.masked_fill(ignored.logical_not(), 0).abs().max().item<double>(), 0);
    const at::Tensor none = at::full_like(labels, kIgnoreLabel), wild = 1e3 * logits;
    const Derivative nothing = differentiate(wild, [&](const at::Tensor& x) { return upsample_cross_entropy(x, none); });
    EXPECT_EQ(nothing.value.item<double>(), 0);
    EXPECT_EQ(nothing.gradient.abs().max().item<double>(), 0);
    EXPECT_EQ(upsample_softmax_sums(wild, none).abs().max().item<double>(), 0);
  });
}

// A logit far above the others of an earlier or later group of classes leaves them nothing; one that is not a number is seen
// wherever it stands.
TEST(PixelwiseLoss, EveryClassCanBeTheLargestOrNotANumber) {
  const int64_t classes = 41;
  for (const Layout layout : {Layout::kPlanes, Layout::kClassesInside}) {
    for (int64_t c = 0; c < classes; c += 5) {
      at::Tensor logits = logits_in(layout, classes, 2, 3, at::kFloat);
      const at::Tensor labels = at::full({2, 2, 3}, c, at::kShort).to(test_device());
      logits.select(1, c).fill_(3e4);
      EXPECT_EQ(upsample_cross_entropy(logits, labels).item<double>(), 0) << c;
      logits.select(1, c).fill_(-3e4);
      EXPECT_GT(upsample_cross_entropy(logits, labels).item<double>(), 12 * 3e4) << c;
      logits.select(1, c).fill_(NAN);
      EXPECT_TRUE(std::isnan(upsample_cross_entropy(logits, (labels + 1) % classes).item<double>())) << c;
    }
  }
}

// Rows filled up to a multiple of 8, as padded_product leaves them: so is the gradient then, or it is dense; zeros behind it.
TEST(PixelwiseLoss, PaddedRowsGiveTheSame) {
  const auto options = at::TensorOptions(testing::test_device());
  torch::manual_seed(12);
  for (const int64_t size : {9, 20}) {  // of the labels: the logits' own, and larger
    for (const auto type : {at::kFloat, at::kBFloat16}) {
      const at::Tensor wide = torch::randn({2, 9, 9, 24}, options).to(type).permute({0, 3, 1, 2});
      const at::Tensor padded = wide.narrow(1, 0, 19).detach().requires_grad_();
      const at::Tensor dense = padded.detach().contiguous().requires_grad_();
      const at::Tensor labels = torch::randint(0, 19, {2, size, size}, options.dtype(at::kLong)).to(at::kShort);
      const auto gradient = [&](const at::Tensor& logits) {
        return torch::autograd::grad({upsample_cross_entropy(logits, labels)}, {logits})[0];
      };
      const at::Tensor found = gradient(padded), expected = gradient(dense);
      EXPECT_TRUE(torch::allclose(found, expected, 1e-2, 1e-3));
      if (found.stride(3) == 24) {
        const at::Tensor behind = found.as_strided({2, 9, 9, 5}, {9 * 9 * 24, 9 * 24, 24, 1}, found.storage_offset() + 19);
        EXPECT_EQ(behind.abs().sum().item<double>(), 0.0);
      }
    }
  }
}

}  // namespace
}  // namespace tessera
