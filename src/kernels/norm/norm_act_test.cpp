#include "kernels/norm/norm_act.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <ostream>

#include "core/error.h"
#include "support/test_device.h"

namespace tessera {
namespace {

using testing::test_device;

struct Case {
  int64_t n, channels, h, w, group;
  bool residual = false, relu = false;
  double mean = 0, std = 1;
};
std::ostream& operator<<(std::ostream& to, const Case& c) {
  return to << c.n << " x " << c.channels << " x " << c.h << " x " << c.w << " in groups of " << c.group
            << (c.residual ? " + residual" : "") << (c.relu ? " + ReLU" : "") << ", mean " << c.mean << ", std " << c.std;
}

// Channels around every vector width; a last group that is smaller; one pixel; one sample; more rows than a tile has.
std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto& [residual, relu] : {std::pair{false, false}, {false, true}, {true, false}, {true, true}}) {
    for (const Case& c : std::initializer_list<Case>{{3, 1, 5, 7, 3},
                                                     {5, 3, 9, 7, 2},
                                                     {2, 8, 16, 16, 1},
                                                     {1, 12, 33, 5, 1},
                                                     {4, 24, 6, 5, 4},
                                                     {3, 64, 8, 8, 2},
                                                     {2, 37, 4, 9, 2},
                                                     {2, 100, 3, 3, 1},
                                                     {4, 2048, 1, 1, 4},
                                                     {5, 40, 1, 1, 2},
                                                     {2, 3, 70, 71, 2},
                                                     {1, 520, 15, 9, 1}}) {
      cases.push_back({c.n, c.channels, c.h, c.w, c.group, residual, relu});
    }
    cases.push_back({2, 19, 20, 20, 1, residual, relu, 1e3, 1e-1});
  }
  return cases;
}

std::vector<int64_t> ends_of(const Case& c) {
  std::vector<int64_t> ends;
  for (int64_t end = c.group; end < c.n; end += c.group) ends.push_back(end);
  ends.push_back(c.n);
  return ends;
}

struct Values {
  at::Tensor x, residual, weight, bias, running_mean, running_var, grad_out;
};

Values values_of(const Case& c, at::ScalarType type, bool channels_last) {
  at::manual_seed(c.channels * 100 + c.n);
  const auto parameters = type == at::kDouble ? at::kDouble : at::kFloat;
  const auto map = [&](double mean, double std) {
    return (mean + std * at::randn({c.n, c.channels, c.h, c.w}, at::kDouble))
        .to(test_device(), type)
        .contiguous(channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous);
  };
  const auto list = [&](double low) { return (low + at::rand({c.channels}, at::kDouble)).to(test_device(), parameters); };
  return {map(c.mean, c.std), c.residual ? map(0, 1) : at::Tensor(), list(0.5), list(-0.5), list(-0.5), list(0.5), map(0, 1)};
}

Values to_double(const Values& v) {
  const auto wide = [](const at::Tensor& t) { return t.defined() ? t.to(at::kDouble) : t; };
  return {wide(v.x),           wide(v.residual), wide(v.weight), wide(v.bias), wide(v.running_mean),
          wide(v.running_var), wide(v.grad_out)};
}

struct Results {
  at::Tensor y, running_mean, running_var, grad_x, grad_residual, grad_weight, grad_bias;
  std::vector<std::pair<const char*, at::Tensor>> all() const {
    return {{"y", y},
            {"running mean", running_mean},
            {"running var", running_var},
            {"grad_x", grad_x},
            {"grad_residual", grad_residual},
            {"grad_weight", grad_weight},
            {"grad_bias", grad_bias}};
  }
};

// `function` gets copies that want gradients, and running averages that it may change.
template <class Function>
Results differentiate(const Values& v, Function&& function) {
  const auto leaf = [](const at::Tensor& t) { return t.defined() ? t.detach().clone().requires_grad_() : t; };
  Values in{leaf(v.x), leaf(v.residual), leaf(v.weight), leaf(v.bias), v.running_mean.clone(), v.running_var.clone(), {}};
  const at::Tensor y = function(in);
  y.backward(v.grad_out);
  return {
      y.detach(),       in.running_mean, in.running_var, in.x.grad(), in.residual.defined() ? in.residual.grad() : at::Tensor(),
      in.weight.grad(), in.bias.grad()};
}

constexpr double kMomentum = 0.1, kEps = 1e-5;

Results fused(const Case& c, const Values& v, bool training = true) {
  return differentiate(v, [&](Values& in) {
    const auto ends = ends_of(c);
    if (training) {
      const at::Tensor moments = norm_moments(in.x, ends, in.running_mean, in.running_var, kMomentum);
      return norm_act(in.x, in.residual, in.weight, in.bias, moments, {.ends = ends, .eps = kEps, .relu = c.relu});
    }
    const at::Tensor moments = at::stack({in.running_mean, in.running_var}).to(at::kDouble).unsqueeze(0);
    return norm_act(in.x, in.residual, in.weight, in.bias, moments,
                    {.ends = {c.n}, .eps = kEps, .relu = c.relu, .constant_moments = true});
  });
}

Results plain(const Case& c, const Values& v, bool training = true) {
  return differentiate(v, [&](Values& in) {
    std::vector<at::Tensor> parts;
    for (const at::Tensor& part : training ? in.x.split(c.group) : std::vector<at::Tensor>{in.x}) {
      parts.push_back(
          at::batch_norm(part, in.weight, in.bias, in.running_mean, in.running_var, training, kMomentum, kEps, false));
    }
    at::Tensor y = at::cat(parts);
    if (in.residual.defined()) y = y + in.residual;
    return c.relu ? y.relu() : y;
  });
}

// The largest difference, relative to the largest value or 1.
double distance(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor exact = b.to(at::kDouble);
  return ((a.to(at::kDouble) - exact).abs().max() / exact.abs().max().clamp_min(1)).item<double>();
}

void expect_close(const Results& found, const Results& expected, double tolerance, const Case& c) {
  const auto all = found.all(), all_expected = expected.all();
  for (size_t i = 0; i < all.size(); ++i) {
    const auto& [name, value] = all[i];
    ASSERT_EQ(value.defined(), all_expected[i].second.defined()) << name << " of " << c;
    if (value.defined()) {
      EXPECT_LT(distance(value, all_expected[i].second), tolerance) << name << " of " << c;
    }
  }
}

// Where a value is within rounding of 0, ReLU's gradient may go either way; this takes those places out of grad_out.
void avoid_the_kink(const Case& c, Values& v, double margin) {
  if (!c.relu) return;
  Case smooth = c;
  smooth.relu = false;
  const at::Tensor y = plain(smooth, to_double(v)).y;
  v.grad_out.masked_fill_((y.abs() < margin).to(v.grad_out.device()), 0);
}

TEST(NormAct, EqualsTorchInFloat64) {
  for (const Case& c : all_cases()) {
    for (const bool channels_last : {false, true}) {
      if (!channels_last && c.residual != c.relu) continue;  // says nothing new, and kernels emulated on a CPU are slow
      const Values v = values_of(c, at::kDouble, channels_last);
      const Results found = fused(c, v);
      // With one value the variance without bias is 0 / 0, in torch too.
      const bool single = c.h * c.w * (c.n % c.group == 0 ? c.group : c.n % c.group) == 1;
      Results expected = plain(c, v);
      if (single) {
        EXPECT_TRUE(found.running_var.isnan().all().item<bool>()) << c;
        expected.running_var = found.running_var.zero_();
      }
      // float64 rounds at 1e-16; sums of 1e3 squares over a variance of 1e-2 lose eight digits of it in torch's own result.
      expect_close(found, expected, c.mean == 0 ? 1e-10 : 1e-7, c);
      EXPECT_EQ(found.y.strides(), v.x.strides()) << c;
      EXPECT_EQ(found.grad_x.strides(), v.x.strides()) << c;
    }
  }
}

TEST(NormAct, Float32IsCloseToFloat64) {
  for (const Case& c : all_cases()) {
    Values v = values_of(c, at::kFloat, true);
    avoid_the_kink(c, v, 1e-4);
    // With a large mean x itself is rounded, but that x is the same for both.
    const double tolerance = 2e-5;
    Results found = fused(c, v), expected = plain(c, to_double(v));
    if (found.running_var.isnan().any().item<bool>()) expected.running_var = found.running_var.zero_();
    expect_close(found, expected, tolerance, c);
  }
}

TEST(NormAct, HalfPrecisionIsComputedInFloat32) {
  for (const Case& c : all_cases()) {
    if (c.mean != 0) continue;  // these types have no digits for it
    for (const auto type : {at::kBFloat16, at::kHalf}) {
      if (type == at::kHalf && !c.residual) continue;
      Values v = values_of(c, type, c.residual);
      avoid_the_kink(c, v, 1e-4);
      Results found = fused(c, v), expected = plain(c, to_double(v));
      EXPECT_EQ(found.y.scalar_type(), type);
      EXPECT_EQ(found.grad_x.scalar_type(), type);
      if (found.running_var.isnan().any().item<bool>()) expected.running_var = found.running_var.zero_();
      // One rounding at the end: half a unit in the last place of 8 (11) bits.
      for (const auto& value : {&Results::y, &Results::grad_x, &Results::grad_residual}) {
        if ((found.*value).defined()) {
          EXPECT_LT(distance(found.*value, expected.*value), type == at::kHalf ? 1e-3 : 4e-3) << c;
        }
      }
      for (const auto& value : {&Results::running_mean, &Results::running_var, &Results::grad_weight, &Results::grad_bias}) {
        EXPECT_LT(distance(found.*value, expected.*value), 5e-5) << c;
      }
    }
  }
}

TEST(NormAct, RunningAveragesAreConstants) {
  for (const Case& c : all_cases()) {
    if (c.mean != 0) continue;
    const Values v = values_of(c, at::kDouble, c.relu);
    expect_close(fused(c, v, /*training=*/false), plain(c, v, /*training=*/false), 1e-10, c);
  }
}

TEST(NormAct, IsTheSameFromRunToRunAndOnAnyNumberOfThreads) {
  const int threads = at::get_num_threads();
  for (const bool channels_last : {false, true}) {
    for (const Case& c : {Case{3, 24, 50, 40, 2, true, true}, Case{2, 300, 20, 20, 2, false, true}}) {
      const Values v = values_of(c, at::kFloat, channels_last);
      const Results first = fused(c, v);
      for (const int count : {1, 2, 3, 7}) {
        at::set_num_threads(count);
        const auto all = first.all(), again = fused(c, v).all();
        for (size_t i = 0; i < all.size(); ++i) {
          const auto& [name, value] = all[i];
          if (value.defined()) {
            EXPECT_TRUE(value.equal(again[i].second)) << name << " of " << c;
          }
        }
      }
      at::set_num_threads(threads);
    }
  }
}

// A group's result must not depend on which others share its pass. The second case has more rows than a GPU takes at once.
TEST(NormAct, GroupsDoNotTouchOneAnother) {
  for (const Case& all : {Case{6, 20, 9, 11, 2, true, true}, Case{6, 64, 76, 76, 2, true, true}}) {
    Case one = all;
    one.n = 2;
    const Values v = values_of(all, at::kFloat, true);
    const Results together = fused(all, v);
    for (int64_t n = 0; n < all.n; n += 2) {
      const auto part = [&](const at::Tensor& t) { return t.narrow(0, n, 2); };
      const Results alone =
          fused(one, {part(v.x), part(v.residual), v.weight, v.bias, v.running_mean, v.running_var, part(v.grad_out)});
      EXPECT_TRUE(alone.y.equal(part(together.y))) << all;
      EXPECT_TRUE(alone.grad_x.equal(part(together.grad_x))) << all;
      EXPECT_TRUE(alone.grad_residual.equal(part(together.grad_residual))) << all;
    }
  }
}

// Groups of any sizes, one of them masked, two of them halves of a unit.
TEST(NormAct, ExchangeMakesPartsAUnit) {
  const Case c{5, 7, 6, 6, 5, false, true};
  const Values v = values_of(c, at::kDouble, true);
  const std::vector<int64_t> ends = {1, 4, 5};  // a part of 1 and one of 3, then a stand-in
  const auto merge = [](at::Tensor& pairs) {
    const at::Tensor whole = (pairs[0] + 3 * pairs[1]) / 4;
    for (int64_t g = 0; g < 3; ++g) pairs[g].copy_(whole);
  };
  const at::Tensor counted = v.x.narrow(0, 0, 4);
  const Results found = differentiate(v, [&](Values& in) {
    const at::Tensor moments = norm_moments(counted, {4}).expand({3, 2, 7});
    return norm_act(in.x, {}, in.weight, in.bias, moments,
                    {.ends = ends, .relu = true, .masked_groups = {2}, .exchange = merge});
  });
  const Results expected = plain({4, 7, 6, 6, 4, false, true},
                                 {counted, {}, v.weight, v.bias, v.running_mean, v.running_var, v.grad_out.narrow(0, 0, 4)});
  EXPECT_LT(distance(found.y.narrow(0, 0, 4), expected.y), 1e-10);
  EXPECT_LT(distance(found.grad_x.narrow(0, 0, 4), expected.grad_x), 1e-10);
  EXPECT_EQ(found.grad_x[4].abs().max().item<double>(), 0);
  EXPECT_LT(distance(found.grad_weight, expected.grad_weight), 1e-10);
  EXPECT_LT(distance(found.grad_bias, expected.grad_bias), 1e-10);
}

TEST(NormAct, StridedInputAndOtherLayoutsOfTheGradient) {
  const Case c{4, 10, 6, 7, 2, true, true};
  Values v = values_of(c, at::kDouble, true);
  const at::Tensor wide = at::randn({4, 12, 8, 9}, v.x.options());
  v.x = wide.narrow(1, 1, 10).narrow(2, 1, 6).narrow(3, 2, 7);
  v.residual = v.residual.contiguous();
  v.grad_out = at::randn({10}, v.x.options()).view({1, 10, 1, 1}).expand_as(v.x);
  Values cut = v;
  cut.x = v.x.contiguous(at::MemoryFormat::ChannelsLast);
  const Results found = differentiate(v, [&](Values& in) {
    in.x = wide.clone().narrow(1, 1, 10).narrow(2, 1, 6).narrow(3, 2, 7).detach().requires_grad_();
    const at::Tensor moments = norm_moments(in.x, {2, 4}, in.running_mean, in.running_var, kMomentum);
    return norm_act(in.x, in.residual, in.weight, in.bias, moments, {.ends = {2, 4}, .eps = kEps, .relu = true});
  });
  expect_close(found, plain(c, cut), 1e-10, c);
}

TEST(NormAct, NanIsSeen) {
  for (const bool relu : {false, true}) {
    const Case c{2, 5, 8, 8, 2, false, relu};
    Values v = values_of(c, at::kFloat, true);
    v.x[1][3][4][4] = std::nan("");
    const Results found = fused(c, v);
    EXPECT_TRUE(found.y.select(1, 3).isnan().all().item<bool>());
    EXPECT_FALSE(found.y.select(1, 2).isnan().any().item<bool>());
    EXPECT_TRUE(found.running_var[3].isnan().item<bool>());
  }
}

TEST(NormAct, RefusesWhatDoesNotFit) {
  const at::Tensor x = at::zeros({2, 3, 4, 4}).to(test_device()), list = at::ones({3}).to(test_device());
  EXPECT_THROW(norm_moments(x, {1}), Error);
  EXPECT_THROW(norm_moments(x, {2, 2}), Error);
  EXPECT_THROW(norm_moments(x[0], {3}), Error);
  const at::Tensor moments = norm_moments(x, {2});
  EXPECT_THROW(norm_act(x, {}, list, list, moments, {.ends = {1, 2}}), Error);
  EXPECT_THROW(norm_act(x, x[0], list, list, moments, {.ends = {2}}), Error);
  EXPECT_THROW(norm_act(x, {}, list, list.narrow(0, 0, 2), moments, {.ends = {2}}), Error);
  EXPECT_THROW(norm_moments(x, {2}, list, list.narrow(0, 0, 2), 0.1), Error);
}

}  // namespace
}  // namespace tessera
