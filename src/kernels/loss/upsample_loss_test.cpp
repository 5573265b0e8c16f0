#include "kernels/loss/upsample_loss.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "core/error.h"
#include "support/derivative.h"
#include "support/test_device.h"

namespace tessera {
namespace {

using testing::Derivative;
using testing::differentiate;
using testing::largest_difference;
using testing::test_device;

struct Shape {
  int64_t n, classes, h, w, out_h, out_w;
};
std::ostream& operator<<(std::ostream& out, const Shape& s) {
  return out << s.n << " x " << s.classes << " x " << s.h << " x " << s.w << " -> " << s.out_h << " x " << s.out_w;
}

// Ratios 1, 2, 4, 8, 16, odd ones, different ones by axis, downsampling, one pixel; classes around every vector width.
const std::vector<Shape> kShapes = {
    {2, 3, 6, 9, 6, 9},    {1, 19, 5, 33, 5, 33},  {2, 150, 3, 5, 6, 10},  {2, 7, 5, 6, 20, 24},
    {1, 16, 4, 3, 32, 24}, {1, 300, 3, 2, 48, 32}, {2, 5, 7, 5, 17, 31},   {1, 17, 9, 11, 5, 4},
    {1, 2, 1, 1, 9, 7},    {1, 1, 3, 3, 7, 7},     {1, 1000, 3, 2, 7, 9},  {1, 33, 2, 9, 40, 9},
    {3, 4, 8, 8, 33, 65},  {1, 8, 20, 20, 3, 80},  {1, 9, 4, 4, 100, 100}, {1, 2, 40, 37, 40, 37},
};

at::Tensor logits_of(const Shape& s, at::ScalarType type, bool channels_last, double scale = 3) {
  at::manual_seed(s.classes * 100 + s.out_w);
  const at::Tensor x = scale * at::randn({s.n, s.classes, s.h, s.w}, at::kDouble);
  return x.to(test_device(), type).contiguous(channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous);
}

// About a fifth ignored.
at::Tensor labels_of(const Shape& s, int64_t seed = 0) {
  at::manual_seed(seed + s.out_h);
  const at::Tensor labels = at::randint(0, s.classes, {s.n, s.out_h, s.out_w}, at::kLong);
  return labels.masked_fill(at::rand(labels.sizes()) < 0.2, kIgnoreLabel).to(test_device());
}

at::Tensor upsampled(const at::Tensor& x, const at::Tensor& labels, bool align_corners) {
  return at::upsample_bilinear2d(x, labels.sizes().slice(1), align_corners);
}

at::Tensor plain_cross_entropy(const at::Tensor& x, const at::Tensor& labels, const CrossEntropyOptions& options) {
  const at::Tensor full = upsampled(x, labels, options.align_corners);
  const auto of = [&](const at::Tensor& y) {
    return at::cross_entropy_loss(
        full, y, options.class_weights.defined() ? options.class_weights.to(x.device(), x.scalar_type()) : at::Tensor(),
        at::Reduction::None, options.ignore, options.label_smoothing);
  };
  if (!options.other_labels.defined()) return of(labels).sum();
  const at::Tensor mix_weight = options.mix_weight.to(x.device()).view({-1, 1, 1});
  return (mix_weight * of(labels) + (1 - mix_weight) * of(options.other_labels)).sum();
}

at::Tensor plain_sums(const at::Tensor& x, const at::Tensor& labels, bool align_corners) {
  const at::Tensor counted = labels.ne(kIgnoreLabel).unsqueeze(1);
  const at::Tensor p = upsampled(x, labels, align_corners).softmax(1) * counted;
  const at::Tensor one_hot = at::one_hot(labels.clamp_min(0), x.size(1)).permute({0, 3, 1, 2}) * counted;
  return at::stack({(p * one_hot).sum({0, 2, 3}), p.sum({0, 2, 3})});
}

std::vector<CrossEntropyOptions> all_options(const Shape& s) {
  std::vector<CrossEntropyOptions> all(5);
  all[1].class_weights = at::rand({s.classes}, at::kDouble) + 0.5;
  all[2].label_smoothing = 0.2;
  all[3].align_corners = true;
  all[4] = {all[1].class_weights, 0.1, labels_of(s, 99), at::rand({s.n}, at::kDouble), kIgnoreLabel, false};
  return all;
}

TEST(UpsampleCrossEntropy, EqualsPlainOpsInFloat64) {
  for (const Shape& s : kShapes) {
    const at::Tensor labels = labels_of(s);
    for (const CrossEntropyOptions& options : all_options(s)) {
      for (const bool channels_last : {false, true}) {
        const at::Tensor logits = logits_of(s, at::kDouble, channels_last);
        const Derivative fused =
            differentiate(logits, [&](const at::Tensor& x) { return upsample_cross_entropy(x, labels, options); });
        const Derivative plain =
            differentiate(logits, [&](const at::Tensor& x) { return plain_cross_entropy(x, labels, options); });
        EXPECT_LT(largest_difference(fused.value, plain.value), 1e-10 * std::max(1.0, plain.value.item<double>())) << s;
        EXPECT_LT(largest_difference(fused.gradient, plain.gradient), 1e-10) << s;
        EXPECT_EQ(fused.gradient.suggest_memory_format(), logits.suggest_memory_format()) << s;
      }
    }
  }
}

// float32 rounds at 6e-8; gradients are sums of up to 25 * 25 weighted pixels here.
TEST(UpsampleCrossEntropy, Float32IsCloseToFloat64) {
  for (const Shape& s : kShapes) {
    const at::Tensor labels = labels_of(s);
    for (const CrossEntropyOptions& options : all_options(s)) {
      const at::Tensor logits = logits_of(s, at::kFloat, true);
      const Derivative fused =
          differentiate(logits, [&](const at::Tensor& x) { return upsample_cross_entropy(x, labels, options); });
      const Derivative exact =
          differentiate(logits.to(at::kDouble), [&](const at::Tensor& x) { return plain_cross_entropy(x, labels, options); });
      EXPECT_EQ(fused.value.scalar_type(), at::kDouble);
      EXPECT_LT(largest_difference(fused.value, exact.value), 1e-6 * std::max(1.0, exact.value.item<double>())) << s;
      EXPECT_LT(largest_difference(fused.gradient, exact.gradient),
                1e-5 * std::max(1.0, exact.gradient.abs().max().item<double>()))
          << s;
    }
  }
}

TEST(UpsampleCrossEntropy, HalfPrecisionIsComputedInFloat32) {
  for (const Shape& s : kShapes) {
    const at::Tensor labels = labels_of(s);
    for (const auto type : {at::kBFloat16, at::kHalf}) {
      const at::Tensor logits = logits_of(s, type, true);
      const auto loss = [&](const at::Tensor& x) { return upsample_cross_entropy(x, labels); };
      const Derivative half = differentiate(logits, loss), whole = differentiate(logits.to(at::kFloat), loss);
      EXPECT_TRUE(half.value.equal(whole.value)) << s;
      EXPECT_TRUE(half.gradient.equal(whole.gradient.to(type))) << s;
    }
  }
}

TEST(UpsampleSoftmaxSums, EqualsPlainOps) {
  for (const Shape& s : kShapes) {
    const at::Tensor labels = labels_of(s), grad_out = at::randn({2, s.classes}, at::kDouble).to(test_device());
    for (const bool align_corners : {false, true}) {
      for (const auto type : {at::kDouble, at::kFloat}) {
        const at::Tensor logits = logits_of(s, type, !align_corners);
        const Derivative fused = differentiate(
            logits, [&](const at::Tensor& x) { return upsample_softmax_sums(x, labels, kIgnoreLabel, align_corners); },
            grad_out);
        const Derivative plain = differentiate(
            logits.to(at::kDouble), [&](const at::Tensor& x) { return plain_sums(x, labels, align_corners); }, grad_out);
        const double tolerance = type == at::kDouble ? 1e-10 : 1e-5;
        EXPECT_LT(largest_difference(fused.value, plain.value), tolerance * std::max(1.0, plain.value.max().item<double>()))
            << s;
        EXPECT_LT(largest_difference(fused.gradient, plain.gradient),
                  tolerance * std::max(1.0, plain.gradient.abs().max().item<double>()))
            << s;
      }
    }
  }
}

TEST(UpsampleLoss, LabelsOfAnyIntegerType) {
  const Shape s{2, 5, 4, 4, 16, 16};
  const at::Tensor logits = logits_of(s, at::kFloat, true), labels = labels_of(s).masked_fill(labels_of(s).eq(-1), 255);
  CrossEntropyOptions options;
  options.ignore = 255;
  const at::Tensor expected = upsample_cross_entropy(logits, labels, options);
  for (const auto type : {at::kByte, at::kShort, at::kInt}) {
    EXPECT_TRUE(upsample_cross_entropy(logits, labels.to(type), options).equal(expected));
    EXPECT_TRUE(upsample_softmax_sums(logits, labels.to(type), 255).equal(upsample_softmax_sums(logits, labels, 255)));
  }
}

TEST(UpsampleLoss, WithoutALabelledPixelAllIsZero) {
  for (const Shape& s : {kShapes[0], kShapes[3]}) {
    const at::Tensor logits = logits_of(s, at::kFloat, true),
                     none = at::full({s.n, s.out_h, s.out_w}, kIgnoreLabel, at::kShort).to(test_device());
    const Derivative loss = differentiate(logits, [&](const at::Tensor& x) { return upsample_cross_entropy(x, none); });
    EXPECT_EQ(loss.value.item<double>(), 0);
    EXPECT_EQ(loss.gradient.abs().max().item<double>(), 0);
    const Derivative sums = differentiate(
        logits, [&](const at::Tensor& x) { return upsample_softmax_sums(x, none); },
        at::ones({2, s.classes}).to(test_device()));
    EXPECT_EQ(sums.value.abs().max().item<double>(), 0);
    EXPECT_EQ(sums.gradient.abs().max().item<double>(), 0);
  }
}

TEST(UpsampleLoss, WithoutImagesAllIsZero) {
  const at::Tensor labels = at::zeros({0, 8, 8}, at::kShort).to(test_device());
  for (const int64_t size : {4, 8}) {
    const at::Tensor logits = at::zeros({0, 5, size, size}).to(test_device());
    const Derivative loss = differentiate(logits, [&](const at::Tensor& x) { return upsample_cross_entropy(x, labels); });
    EXPECT_EQ(loss.value.item<double>(), 0);
    EXPECT_EQ(loss.gradient.sizes(), logits.sizes());
    const Derivative sums = differentiate(
        logits, [&](const at::Tensor& x) { return upsample_softmax_sums(x, labels); }, at::ones({2, 5}).to(test_device()));
    EXPECT_TRUE(sums.value.cpu().equal(at::zeros({2, 5}, at::kDouble)));
    EXPECT_EQ(sums.gradient.sizes(), logits.sizes());
  }
}

TEST(UpsampleLoss, IsTheSameOnAnyNumberOfThreads) {
  const int threads = at::get_num_threads();
  for (const Shape& s : {Shape{3, 20, 25, 25, 100, 100}, Shape{3, 6, 90, 70, 90, 70}}) {
    const at::Tensor logits = logits_of(s, at::kFloat, true), labels = labels_of(s),
                     grad_out = at::randn({2, s.classes}).to(test_device());
    std::vector<Derivative> results;
    for (const int count : {1, 2, 3, 7}) {
      at::set_num_threads(count);
      results.push_back(differentiate(logits, [&](const at::Tensor& x) { return upsample_cross_entropy(x, labels); }));
      results.push_back(differentiate(
          logits, [&](const at::Tensor& x) { return upsample_softmax_sums(x, labels); }, grad_out));
    }
    at::set_num_threads(threads);
    for (size_t i = 2; i < results.size(); ++i) {
      EXPECT_TRUE(results[i].value.equal(results[i % 2].value));
      EXPECT_TRUE(results[i].gradient.equal(results[i % 2].gradient));
    }
  }
}

// The sum of an image must not depend on which others mix_weight its micro-batch.
TEST(UpsampleLoss, ImagesDoNotTouchOneAnother) {
  const Shape s{4, 11, 8, 8, 32, 32};
  const at::Tensor logits = logits_of(s, at::kFloat, true), labels = labels_of(s);
  double sum = 0;
  for (int64_t n = 0; n < s.n; ++n) {
    sum += upsample_cross_entropy(logits.narrow(0, n, 1), labels.narrow(0, n, 1)).item<double>();
  }
  EXPECT_DOUBLE_EQ(upsample_cross_entropy(logits, labels).item<double>(), sum);
}

TEST(UpsampleLoss, StridedLogitsNeedNoCopy) {
  const Shape s{2, 6, 9, 9, 30, 30};
  const at::Tensor wide = logits_of({2, 8, 12, 12, 30, 30}, at::kFloat, false), labels = labels_of(s);
  const at::Tensor cut = wide.narrow(1, 1, 6).narrow(2, 2, 9).narrow(3, 3, 9);
  EXPECT_TRUE(upsample_cross_entropy(cut, labels).equal(upsample_cross_entropy(cut.contiguous(), labels)));
}

TEST(UpsampleLoss, ExtremeLogitsStayFiniteAndNanIsSeen) {
  for (const Shape& s : {kShapes[0], kShapes[3]}) {
    const at::Tensor logits = logits_of(s, at::kFloat, true, 1e4), labels = labels_of(s);
    const auto loss = [&](const at::Tensor& x) { return upsample_cross_entropy(x, labels); };
    const Derivative extreme = differentiate(logits, loss);
    EXPECT_TRUE(std::isfinite(extreme.value.item<double>()));
    EXPECT_TRUE(at::isfinite(extreme.gradient).all().item<bool>());
    for (const double bad : {std::nan(""), double{INFINITY}}) {
      EXPECT_TRUE(std::isnan(differentiate(at::full_like(logits, bad), loss).value.item<double>())) << bad;
    }
  }
}

// A GPU cannot be asked without waiting for it: there the result is not a number.
void expect_refused(const std::function<at::Tensor()>& call) {
  try {
    EXPECT_TRUE(at::isnan(call()).any().item<bool>());
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("expected labels in 0..3"), std::string::npos) << e.what();
  }
}

TEST(UpsampleLoss, LabelsThatAreNoClassDoNotPass) {
  const at::Tensor logits = at::zeros({1, 4, 2, 2}).to(test_device());
  const at::Tensor high = at::full({1, 4, 4}, 4, at::kLong).to(test_device()),
                   low = at::full({1, 2, 2}, -2, at::kLong).to(test_device());
  expect_refused([&] { return upsample_cross_entropy(logits, high); });
  expect_refused([&] { return upsample_cross_entropy(logits, low); });
  expect_refused([&] { return upsample_softmax_sums(logits, low); });
  expect_refused([&] { return upsample_softmax_sums(logits, high); });
}

// Their lower 16 bits are those of a class, or of the ignored label.
TEST(UpsampleLoss, LabelsBeyondInt16AreNoClass) {
  const at::Tensor logits = at::zeros({1, 4, 2, 2}).to(test_device());
  for (const int64_t label : {65536 + 3, 65535, 32768, -65536, -32769}) {
    SCOPED_TRACE(label);
    for (const auto type : {at::kInt, at::kLong}) {
      const at::Tensor labels = at::full({1, 4, 4}, label, type).to(test_device());
      CrossEntropyOptions mixed;
      mixed.other_labels = labels;
      mixed.mix_weight = at::full({1}, 0.5, at::kDouble).to(test_device());
      expect_refused([&] { return upsample_cross_entropy(logits, labels); });
      expect_refused([&] { return upsample_cross_entropy(logits, at::zeros_like(labels), mixed); });
      expect_refused([&] { return upsample_softmax_sums(logits, labels); });
    }
  }
}

TEST(UpsampleLoss, RefusesWhatDoesNotFit) {
  const at::Tensor logits = at::zeros({1, 4, 2, 2}).to(test_device());
  EXPECT_THROW(upsample_cross_entropy(logits, at::zeros({2, 4, 4}, at::kLong)), Error);
  EXPECT_THROW(upsample_cross_entropy(logits, at::zeros({1, 4, 4})), Error);
  CrossEntropyOptions options;
  options.class_weights = at::ones({3});
  EXPECT_THROW(upsample_cross_entropy(logits, at::zeros({1, 4, 4}, at::kLong), options), Error);
}

}  // namespace
}  // namespace tessera
