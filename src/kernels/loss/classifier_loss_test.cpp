#include "kernels/loss/classifier_loss.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/types.h>

#include <cmath>

#include "core/error.h"
#include "support/derivative.h"
#include "support/test_device.h"

namespace tessera {
namespace {

using testing::largest_difference;
using testing::test_device;

struct Case {
  int64_t classes, channels, height, width;
};
// Classes of every width of the kernels and of their last tile; pixels of less than a tile, of some and a bit, of an odd
// number.
const Case kCases[] = {{1, 8, 3, 3},     {2, 16, 5, 7},   {19, 32, 9, 31}, {19, 48, 7, 5},   {19, 72, 3, 5},
                       {40, 64, 4, 4},   {61, 24, 5, 13}, {64, 128, 7, 3}, {150, 64, 9, 17}, {150, 128, 3, 11},
                       {160, 24, 1, 16}, {200, 64, 3, 7}, {256, 8, 1, 1}};

struct Inputs {
  PixelClassifier classifier;
  at::Tensor labels;
};

Inputs make_inputs(const Case& c, at::ScalarType type, double ignored = 0.2) {
  torch::manual_seed(c.classes * 1000 + c.channels);
  const auto leaf = [&](const at::Tensor& values, at::ScalarType as) { return values.to(test_device(), as).requires_grad_(); };
  const at::Tensor features = torch::randn({2, c.channels, c.height, c.width}).contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor weight = torch::randn({c.classes, c.channels, 1, 1}) * 2 / std::sqrt(static_cast<double>(c.channels));
  const at::Tensor labels = torch::randint(0, c.classes, {2, c.height, c.width}, torch::kShort);
  return {{leaf(features, type), leaf(weight, type), leaf(torch::randn({c.classes}), at::kFloat)},
          labels.masked_fill(torch::rand(labels.sizes()) < ignored, kIgnoreLabel).to(test_device())};
}

// Value and the gradients of features, weight and bias.
std::vector<at::Tensor> results(const at::Tensor& value, const PixelClassifier& c) {
  std::vector<at::Tensor> all = torch::autograd::grad({value}, {c.features, c.weight, c.bias});
  all.insert(all.begin(), value.detach());
  return all;
}

std::vector<at::Tensor> plain(const Inputs& in, const CrossEntropyOptions& options, double scale) {
  const auto leaf = [](const at::Tensor& x) { return x.detach().to(at::kDouble).requires_grad_(); };
  const PixelClassifier c{leaf(in.classifier.features), leaf(in.classifier.weight), leaf(in.classifier.bias)};
  const at::Tensor weights = options.class_weights.defined() ? options.class_weights.to(test_device()) : at::Tensor();
  const at::Tensor value = scale * at::cross_entropy_loss(torch::conv2d(c.features, c.weight, c.bias), in.labels.to(at::kLong),
                                                          weights, at::Reduction::Sum, kIgnoreLabel, options.label_smoothing);
  return results(value, c);
}

at::Tensor number(double value) {
  return at::scalar_tensor(value, at::TensorOptions(test_device()).dtype(at::kDouble));
}

// The gradients of logits that products take are rounded to half precision, and so is the features' gradient: errors of a part
// in 2^9. A GPU's exponential errs by 2e-6, which is all there is of a single class's gradients.
void expect_close(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& wanted) {
  EXPECT_LT(largest_difference(found[0], wanted[0]), 1e-5 * std::max(1.0, wanted[0].abs().item<double>()));
  for (size_t i = 1; i < wanted.size(); ++i) {
    EXPECT_EQ(found[i].sizes(), wanted[i].sizes());
    EXPECT_LT(largest_difference(found[i], wanted[i]), 0.01 * wanted[i].abs().max().item<double>() + 1e-4) << i;
  }
}

template <class Work>
void for_each_case(Work&& work) {
  for (const Case& c : kCases) {
    for (const auto type : {at::kBFloat16, at::kHalf}) {
      SCOPED_TRACE(::testing::Message() << c.classes << " classes, " << c.channels << " channels, " << c.height << " x "
                                        << c.width << ", " << toString(type));
      work(c, type);
    }
  }
}

TEST(ClassifierLoss, EqualsConvolutionAndCrossEntropy) {
  for_each_case([](const Case& c, at::ScalarType type) {
    const Inputs in = make_inputs(c, type);
    const double scale = 0.3;
    for (const double loss_scale : {1.0, 64.0}) {  // of a loss that is scaled
      const at::Tensor value = loss_scale * classifier_cross_entropy(in.classifier, in.labels, {}, number(scale));
      const std::vector<at::Tensor> found = results(value, in.classifier);
      expect_close(found, plain(in, {}, loss_scale * scale));
      EXPECT_EQ(found[1].scalar_type(), type);
      EXPECT_EQ(found[2].scalar_type(), type);
      EXPECT_EQ(found[3].scalar_type(), at::kFloat);
      EXPECT_TRUE(found[1].is_contiguous(at::MemoryFormat::ChannelsLast));
    }
  });
}

// So many that a GPU's blocks go on to other pixels, once and twice, and the last to none. Other widths of the kernels do so
// only on a GPU: they take others too long.
TEST(ClassifierLoss, ManyPixels) {
  std::vector<Case> cases{{11, 24, 150, 161}, {3, 8, 185, 185}};
  if (test_device().is_cuda())
    cases.insert(cases.end(), {{150, 64, 200, 200}, {64, 128, 200, 201}, {150, 128, 201, 200}, {200, 64, 203, 200}});
  for (const Case& c : cases) {
    SCOPED_TRACE(::testing::Message() << c.classes << " classes, " << c.channels << " channels");
    const Inputs in = make_inputs(c, at::kBFloat16);
    const auto once = results(classifier_cross_entropy(in.classifier, in.labels, {}, number(1)), in.classifier);
    expect_close(once, plain(in, {}, 1));
    const auto again = results(classifier_cross_entropy(in.classifier, in.labels, {}, number(1)), in.classifier);
    for (size_t i = 0; i < once.size(); ++i) EXPECT_TRUE(once[i].equal(again[i])) << i;
  }
}

TEST(ClassifierLoss, ClassWeightsAndSmoothing) {
  for_each_case([](const Case& c, at::ScalarType type) {
    const Inputs in = make_inputs(c, type);
    CrossEntropyOptions options;
    options.class_weights = torch::rand({c.classes}, torch::kDouble) + 0.5;
    options.label_smoothing = 0.1;
    const at::Tensor value = classifier_cross_entropy(in.classifier, in.labels, options, number(1));
    expect_close(results(value, in.classifier), plain(in, options, 1));
  });
}

TEST(ClassifierLoss, IgnoredPixelsCountNowhere) {
  for_each_case([](const Case& c, at::ScalarType type) {
    const Inputs in = make_inputs(c, type);
    const at::Tensor ignored = in.labels.eq(kIgnoreLabel).unsqueeze(1);
    const auto found = results(classifier_cross_entropy(in.classifier, in.labels, {}, number(1)), in.classifier);
    EXPECT_EQ(found[1].masked_fill(ignored.logical_not(), 0).abs().max().item<double>(), 0);
    const Inputs none = make_inputs(c, type, /*ignored=*/2);
    for (const at::Tensor& zero :
         results(classifier_cross_entropy(none.classifier, none.labels, {}, number(1)), none.classifier))
      EXPECT_EQ(zero.abs().max().item<double>(), 0);
  });
}

// A pixel whose label is nearly certain has a small gradient, which must not drown in the rounding of 1 - p.
TEST(ClassifierLoss, ConfidentPixelsKeepTheirGradient) {
  const Inputs in = make_inputs({19, 16, 6, 5}, at::kBFloat16, 0);
  const at::Tensor large = (4 * in.classifier.weight.detach()).requires_grad_();
  const PixelClassifier classifier{in.classifier.features, large, in.classifier.bias};
  const at::Tensor logits = torch::conv2d(classifier.features.detach().to(at::kDouble), large.detach().to(at::kDouble),
                                          classifier.bias.detach().to(at::kDouble));
  const Inputs certain{classifier, logits.argmax(1).to(at::kShort)};
  const auto found = results(classifier_cross_entropy(classifier, certain.labels, {}, number(1)), classifier);
  const auto wanted = plain(certain, {}, 1);
  const at::Tensor size = wanted[1].abs().amax(1, true);
  EXPECT_LT(((found[1].to(at::kDouble) - wanted[1]).abs() / (size + 1e-4)).max().item<double>(), 0.02);
}

TEST(ClassifierLoss, SameBitsEveryTime) {
  const Inputs in = make_inputs({150, 64, 33, 35}, at::kBFloat16);
  const auto once = results(classifier_cross_entropy(in.classifier, in.labels, {}, number(1)), in.classifier);
  const auto again = results(classifier_cross_entropy(in.classifier, in.labels, {}, number(1)), in.classifier);
  for (size_t i = 0; i < once.size(); ++i) EXPECT_TRUE(once[i].equal(again[i])) << i;
}

// The gradient is made in forward and scaled in place.
TEST(ClassifierLoss, GoesBackOnlyOnce) {
  const Inputs in = make_inputs({5, 16, 2, 3}, at::kBFloat16);
  const at::Tensor value = classifier_cross_entropy(in.classifier, in.labels, {}, number(1));
  value.backward({}, /*retain_graph=*/true);
  EXPECT_THROW(value.backward(), c10::Error);
}

TEST(ClassifierLoss, WhatItTakes) {
  const auto fits = [](int64_t classes, int64_t channels, at::ScalarType type) {
    const Inputs in = make_inputs({classes, channels, 2, 2}, type);
    return in.classifier.fits();
  };
  EXPECT_TRUE(fits(256, 64, at::kBFloat16));
  EXPECT_TRUE(fits(160, 128, at::kHalf));
  EXPECT_FALSE(fits(257, 64, at::kBFloat16));
  EXPECT_FALSE(fits(161, 128, at::kBFloat16));
  EXPECT_FALSE(fits(19, 136, at::kBFloat16));
  EXPECT_FALSE(fits(19, 12, at::kBFloat16));
  EXPECT_FALSE(fits(19, 64, at::kFloat));
  const Inputs in = make_inputs({19, 64, 2, 2}, at::kBFloat16);
  EXPECT_FALSE((PixelClassifier{in.classifier.features.contiguous(), in.classifier.weight, in.classifier.bias}.fits()));
  EXPECT_FALSE((PixelClassifier{in.classifier.features.narrow(0, 0, 0), in.classifier.weight, in.classifier.bias}.fits()));
}

// A GPU cannot be asked without waiting for it: there the result is not a number.
TEST(ClassifierLoss, LabelsThatAreNoClassDoNotPass) {
  const auto& [classifier, labels] = make_inputs({19, 64, 2, 2}, at::kBFloat16);
  for (const int64_t label : {19, -2, 65536 + 3, 65535, -65536}) {
    SCOPED_TRACE(label);
    try {
      const at::Tensor wrong = at::full_like(labels, label, labels.options().dtype(at::kLong));
      EXPECT_TRUE(std::isnan(classifier_cross_entropy(classifier, wrong, {}, number(1)).item<double>()));
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("expected labels in 0..18"), std::string::npos) << e.what();
    }
  }
}

TEST(ClassifierLoss, RefusesWhatDoesNotFit) {
  const auto& [classifier, labels] = make_inputs({19, 64, 2, 2}, at::kBFloat16);
  const auto& [features, weight, bias] = classifier;
  EXPECT_THROW(classifier_cross_entropy({features, weight.narrow(1, 0, 32), bias}, labels, {}, number(1)), Error);
  EXPECT_THROW(classifier_cross_entropy({features, weight, bias.narrow(0, 0, 18)}, labels, {}, number(1)), Error);
  CrossEntropyOptions options;
  options.class_weights = at::ones({18});
  EXPECT_THROW(classifier_cross_entropy(classifier, labels, options, number(1)), Error);
}

}  // namespace
}  // namespace tessera
