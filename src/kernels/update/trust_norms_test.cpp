#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <functional>

#include "kernels/update/optimizer_step.h"
#include "support/derivative.h"
#include "support/test_device.h"

namespace tessera {
namespace {

using testing::largest_difference;

// Tensors at odd places, one longer than several chunks, one of zeros (whose ratio is 1), one that takes no ratio.
struct Span {
  int64_t begin, end;
  double lr, decay;
  bool use_trust_ratio;
};
const std::vector<Span> kSpans = {{0, 5, 1, 0.1, true},           {8, 64, 2, 0, true},
                                  {64, 71, 1, 0, false},          {80, 40'003, 1, 0.01, true},
                                  {40'010, 40'011, 1, 0, true},   {40'012, 40'100, 1, 0.2, true},
                                  {40'100, 40'150, 1, 0.1, true}, {40'152, 40'199, 1, 0.3, false}};
constexpr int64_t kNumel = 40'200;
constexpr int kSteps = 5;
constexpr double kBeta1 = 0.9, kBeta2 = 0.99, kEps = 1e-6, kLr = 0.02, kTrust = 0.1;

at::Tensor start() {
  at::Tensor w = torch::sin(torch::arange(kNumel, torch::kDouble) * 0.7);
  w.slice(0, 40'012, 40'100).zero_();
  return w;
}
at::Tensor gradient(int step) {
  return torch::cos(torch::arange(kNumel, torch::kDouble) * (1.3 + step)) * (1 + step);
}

// The published rule, tensor by tensor in float64.
at::Tensor published(double factor) {
  const at::Tensor w = start(), m = torch::zeros_like(w), v = torch::zeros_like(w);
  for (int step = 0; step < kSteps; ++step) {
    const at::Tensor g = gradient(step) * factor;
    m.mul_(kBeta1).add_(g, 1 - kBeta1);
    v.mul_(kBeta2).addcmul_(g, g, 1 - kBeta2);
    const at::Tensor r = m / (1 - std::pow(kBeta1, step + 1)) / ((v / (1 - std::pow(kBeta2, step + 1))).sqrt() + kEps);
    for (const Span& span : kSpans) {
      at::Tensor weight = w.slice(0, span.begin, span.end);
      const at::Tensor update = r.slice(0, span.begin, span.end) + span.decay * weight;
      const double length = weight.norm().item<double>(), step_length = update.norm().item<double>();
      const double trust = span.use_trust_ratio && length > 0 && step_length > 0 ? length / step_length : 1;
      weight.sub_(update * (kLr * span.lr * trust));
    }
  }
  return w;
}

// LARS as published, but for the place of the learning rate: Note [LARS].
at::Tensor published_lars(double factor) {
  const at::Tensor w = start(), momentum = torch::zeros_like(w);
  for (int step = 0; step < kSteps; ++step) {
    for (const Span& span : kSpans) {
      at::Tensor weight = w.slice(0, span.begin, span.end), buffer = momentum.slice(0, span.begin, span.end);
      const at::Tensor g = gradient(step).slice(0, span.begin, span.end) * factor;
      const double length = weight.norm().item<double>(), own = g.norm().item<double>();
      const bool scaled = span.use_trust_ratio && length > 0 && own > 0;
      const double trust = scaled ? kTrust * length / (own + span.decay * length + kEps) : 1;
      buffer.mul_(kBeta1).add_(g + span.decay * weight, trust);
      weight.sub_(buffer, kLr * span.lr);
    }
  }
  return w;
}

StepNumbers numbers_of(UpdateRule rule, int step) {
  StepNumbers numbers{.lr = kLr, .momentum = kBeta1, .beta2 = kBeta2, .eps = kEps, .trust_coefficient = kTrust};
  if (rule == UpdateRule::kLamb) set_biases(numbers, step + 1);
  return numbers;
}

// parts: the arena is cut at these places, as ranks do, and the norms of cut tensors are added up.
at::Tensor own(UpdateRule rule, at::ScalarType type, const GradientScale& scale, const std::vector<int64_t>& cuts = {},
               int64_t offset = 0, const std::function<void(int step)>& after = {}) {
  const auto device = testing::test_device();
  const auto arena = [&](const at::Tensor& values) {
    return torch::cat({torch::zeros({offset}, torch::kDouble), values}).to(device, type).slice(0, offset);
  };
  std::vector<int64_t> edges{0};
  edges.insert(edges.end(), cuts.begin(), cuts.end());
  edges.push_back(kNumel);
  const at::Tensor params = arena(start()), m = arena(torch::zeros({kNumel})), v = arena(torch::zeros({kNumel}));
  for (int step = 0; step < kSteps; ++step) {
    const at::Tensor grads = arena(gradient(step));
    at::Tensor norms = torch::zeros({static_cast<int64_t>(kSpans.size()), 2}, torch::kDouble).to(device);
    std::vector<std::function<void()>> steps;
    for (size_t part = 0; part + 1 < edges.size(); ++part) {
      const int64_t begin = edges[part], end = edges[part + 1];
      std::vector<std::pair<int64_t, int64_t>> bounds;
      std::vector<RangeRates> rates;
      std::vector<int64_t> rows;
      for (size_t i = 0; i < kSpans.size(); ++i) {
        const Span& span = kSpans[i];
        const int64_t from = std::max(span.begin, begin), to = std::min(span.end, end);
        if (from >= to) continue;
        bounds.emplace_back(from - begin, to - begin);
        rates.push_back({.lr_scale = span.lr, .l2_decay = span.decay, .use_trust_ratio = span.use_trust_ratio});
        rows.push_back(static_cast<int64_t>(i));
      }
      const RangeTable ranges = make_range_table(bounds, rates, device);
      const auto cut = [&](const at::Tensor& t) { return t.slice(0, begin, end); };
      StepArenas arenas{cut(params), cut(grads), {cut(m)}};
      if (rule == UpdateRule::kLamb) arenas.state.push_back(cut(v));
      const at::Tensor index = torch::tensor(rows, torch::kLong).to(device);
      norms.index_add_(0, index, trust_norms(arenas, ranges, scale, rule, numbers_of(rule, step)));
      steps.emplace_back(
          [=, &norms] { optimizer_step(arenas, ranges, scale, rule, numbers_of(rule, step), norms.index_select(0, index)); });
    }
    for (const auto& apply : steps) apply();
    if (after) after(step);
  }
  return params.cpu();
}

struct Published {
  const char* name;
  UpdateRule rule;
  at::Tensor (*result)(double factor);
};
constexpr Published kRules[] = {{"lamb", UpdateRule::kLamb, published}, {"lars", UpdateRule::kLars, published_lars}};

TEST(TrustRatio, IsThePublishedRule) {
  const GradientScale half{torch::tensor(0.5, torch::kDouble).to(testing::test_device())};
  for (const auto& [name, rule, result] : kRules) {
    const at::Tensor plain = result(1), scaled = result(0.5);
    ASSERT_GT(largest_difference(plain, start()), 0.02) << name;
    EXPECT_LT(largest_difference(own(rule, at::kDouble, {}), plain), 1e-12) << name;
    EXPECT_LT(largest_difference(own(rule, at::kDouble, half), scaled), 1e-12) << name;
    // A few roundings of 6e-8 per step, on weights up to 1.
    EXPECT_LT(largest_difference(own(rule, at::kFloat, half), scaled), 3e-6) << name;
  }
}

TEST(TrustRatio, NormsOfCutTensorsAddUp) {
  for (const auto& [name, rule, result] : kRules) {
    const at::Tensor whole = own(rule, at::kDouble, {});
    EXPECT_LT(largest_difference(own(rule, at::kDouble, {}, {16, 68, 20'000, 40'160}), whole), 1e-13) << name;
  }
}

TEST(TrustRatio, PlaceInMemoryDoesNotChangeABit) {
  for (const auto& [name, rule, result] : kRules) {
    const at::Tensor expected = own(rule, at::kFloat, {});
    for (const int64_t offset : {1, 2, 3}) EXPECT_TRUE(own(rule, at::kFloat, {}, {}, offset).equal(expected)) << name << offset;
  }
}

// Steps are counted on the device, and one that is skipped moves neither weights nor state.
TEST(TrustRatio, GradientsThatAreNotFiniteChangeNothing) {
  const auto device = testing::test_device();
  const at::Tensor nothing = torch::tensor(NAN, torch::kDouble).to(device);
  const at::Tensor one = torch::tensor(1.0, torch::kDouble).to(device);
  for (const auto& [name, rule, result] : kRules) {
    const at::Tensor scaling = torch::tensor({1.0, 0.0, 1.0, 0.0, 1.0, 0.0}, torch::kDouble).to(device);
    EXPECT_TRUE(own(rule, at::kDouble, {nothing, scaling}).equal(start())) << name;
    const at::Tensor counted = own(rule, at::kDouble, {one, scaling}, {}, 0, [&](int) { scaling[2] += 1; });
    EXPECT_LT(largest_difference(counted, result(1)), 1e-12) << name;
  }
}

}  // namespace
}  // namespace tessera
