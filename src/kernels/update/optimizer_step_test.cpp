#include "kernels/update/optimizer_step.h"

#include <gtest/gtest.h>
#include <torch/optim.h>
#include <torch/types.h>

#include <cmath>

#include "core/error.h"
#include "support/test_device.h"

namespace tessera {
namespace {

// Odd places and lengths, gaps between ranges, one range longer than a block of the GPU's kernel.
struct Range {
  int64_t begin, end;
  double lr, decay;
};
const std::vector<Range> kRanges = {{0, 5, 1, 0.1},     {5, 6, 2, 0},         {8, 64, 1, 0.1},      {64, 71, 0.5, 0.3},
                                    {75, 80, 1, 0},     {80, 9003, 10, 0.01}, {9010, 9011, 1, 0.2}, {9012, 9016, 3, 0},
                                    {9016, 9100, 1, 0}, {9100, 9999, 1, 0.1}};
constexpr int64_t kNumel = 10'003;
constexpr int kSteps = 4;

struct Rule {
  const char* name;
  UpdateRule rule;
  bool decoupled;
};
const std::vector<Rule> kRules = {{"sgd", UpdateRule::kSgd, false},           {"momentum", UpdateRule::kMomentum, false},
                                  {"nesterov", UpdateRule::kNesterov, false}, {"decoupled", UpdateRule::kMomentum, true},
                                  {"adam", UpdateRule::kAdam, false},         {"adamw", UpdateRule::kAdam, true},
                                  {"lion", UpdateRule::kLion, true}};
constexpr double kBeta2 = 0.999;

double lr_of(int step) {
  return 0.1 / (step + 1);
}
at::Tensor start() {
  return torch::sin(torch::arange(kNumel, torch::kDouble) * 0.7);
}
at::Tensor gradient(int step) {
  return torch::cos(torch::arange(kNumel, torch::kDouble) * (1.3 + step));
}

// The rule as published, range by range; torch has none.
at::Tensor lion_result(double factor) {
  const at::Tensor arena = start(), momentum = torch::zeros_like(arena);
  for (int step = 0; step < kSteps; ++step) {
    const at::Tensor g = gradient(step) * factor, mixed = 0.9 * momentum + (1 - 0.9) * g;
    momentum.mul_(kBeta2).add_(g, 1 - kBeta2);
    for (const Range& range : kRanges) {
      const double lr = lr_of(step) * range.lr;
      at::Tensor w = arena.slice(0, range.begin, range.end);
      w.mul_(1 - lr * range.decay).sub_(mixed.slice(0, range.begin, range.end).sign(), lr);
    }
  }
  return arena;
}

// The ranges after torch's own optimizers, in float64.
at::Tensor torch_result(const Rule& rule, double factor) {
  if (rule.rule == UpdateRule::kLion) return lion_result(factor);
  const at::Tensor arena = start();
  std::vector<at::Tensor> pieces;
  std::vector<torch::optim::OptimizerParamGroup> groups;
  for (const Range& range : kRanges) {
    pieces.push_back(arena.slice(0, range.begin, range.end).clone().requires_grad_());
    std::unique_ptr<torch::optim::OptimizerOptions> options;
    if (rule.rule == UpdateRule::kAdam && rule.decoupled) {
      options = std::make_unique<torch::optim::AdamWOptions>(torch::optim::AdamWOptions(0).weight_decay(range.decay));
    } else if (rule.rule == UpdateRule::kAdam) {
      options = std::make_unique<torch::optim::AdamOptions>(torch::optim::AdamOptions(0).weight_decay(range.decay));
    } else {
      options = std::make_unique<torch::optim::SGDOptions>(torch::optim::SGDOptions(0)
                                                               .momentum(rule.rule == UpdateRule::kSgd ? 0 : 0.9)
                                                               .nesterov(rule.rule == UpdateRule::kNesterov)
                                                               .weight_decay(rule.decoupled ? 0 : range.decay));
    }
    groups.emplace_back(std::vector<at::Tensor>{pieces.back()}, std::move(options));
  }
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  if (rule.rule != UpdateRule::kAdam) {
    optimizer = std::make_unique<torch::optim::SGD>(groups, torch::optim::SGDOptions(0));
  } else if (rule.decoupled) {
    optimizer = std::make_unique<torch::optim::AdamW>(groups, torch::optim::AdamWOptions());
  } else {
    optimizer = std::make_unique<torch::optim::Adam>(groups, torch::optim::AdamOptions());
  }
  for (int step = 0; step < kSteps; ++step) {
    for (size_t i = 0; i < kRanges.size(); ++i) {
      pieces[i].mutable_grad() = gradient(step).slice(0, kRanges[i].begin, kRanges[i].end) * factor;
      const double lr = lr_of(step) * kRanges[i].lr;
      optimizer->param_groups()[i].options().set_lr(lr);
      const at::NoGradGuard no_grad;
      if (rule.decoupled && rule.rule != UpdateRule::kAdam) pieces[i].mul_(1 - lr * kRanges[i].decay);
    }
    optimizer->step();
  }
  for (size_t i = 0; i < kRanges.size(); ++i) arena.slice(0, kRanges[i].begin, kRanges[i].end).copy_(pieces[i].detach());
  return arena;
}

StepNumbers numbers_of(const Rule& rule, int step) {
  StepNumbers numbers{.lr = lr_of(step), .decay = lr_of(step), .momentum = 0.9, .beta2 = kBeta2, .eps = 1e-8};
  if (rule.rule != UpdateRule::kAdam) return numbers;
  numbers.first_bias = 1 - std::pow(0.9, step + 1);
  numbers.second_bias = std::sqrt(1 - std::pow(0.999, step + 1));
  return numbers;
}

RangeTable range_table(const Rule& rule) {
  std::vector<std::pair<int64_t, int64_t>> bounds;
  std::vector<RangeRates> rates;
  for (const Range& range : kRanges) {
    bounds.emplace_back(range.begin, range.end);
    rates.push_back({range.lr, rule.decoupled ? 0 : range.decay, rule.decoupled ? range.lr * range.decay : 0});
  }
  return make_range_table(bounds, rates, testing::test_device());
}

// offset: the arenas begin that many values into a vector.
at::Tensor own_result(const Rule& rule, at::ScalarType type, const at::Tensor& factor, int64_t offset = 0) {
  const auto device = testing::test_device();
  const RangeTable ranges = range_table(rule);
  const auto arena = [&](const at::Tensor& values) {
    return torch::cat({torch::zeros({offset}, torch::kDouble), values}).to(device, type).slice(0, offset);
  };
  const at::Tensor params = arena(start());
  std::vector<at::Tensor> state;
  for (int64_t i = 0; i < num_states(rule.rule); ++i) state.push_back(arena(torch::zeros({kNumel}, torch::kDouble)));
  for (int step = 0; step < kSteps; ++step)
    optimizer_step({params, arena(gradient(step)), state}, ranges, {factor}, rule.rule, numbers_of(rule, step));
  return params.cpu();
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b).abs().max().item<double>();
}

TEST(OptimizerStep, EqualsTorchsOptimizers) {
  const at::Tensor factor = torch::tensor(0.25, torch::kDouble).to(testing::test_device());
  for (const Rule& rule : kRules) {
    const at::Tensor plain = torch_result(rule, 1), scaled = torch_result(rule, 0.25);
    ASSERT_GT(difference(plain, start()), 0.1) << rule.name;
    EXPECT_LT(difference(own_result(rule, at::kDouble, {}), plain), 1e-12) << rule.name;
    EXPECT_LT(difference(own_result(rule, at::kDouble, factor), scaled), 1e-12) << rule.name;
    // A few roundings of 6e-8 per step, on values up to 10.
    EXPECT_LT(difference(own_result(rule, at::kFloat, factor), scaled), 2e-6) << rule.name;
  }
}

TEST(OptimizerStep, PlaceInMemoryDoesNotChangeABit) {
  for (const Rule& rule : kRules) {
    const at::Tensor expected = own_result(rule, at::kFloat, {});
    for (const int64_t offset : {1, 2, 3}) EXPECT_TRUE(own_result(rule, at::kFloat, {}, offset).equal(expected)) << rule.name;
  }
}

TEST(OptimizerStep, ValuesOutsideTheRunsStay) {
  const at::Tensor result = own_result({"adam", UpdateRule::kAdam, false}, at::kDouble, {}), before = start();
  for (const int64_t place : {6, 7, 71, 74, 9003, 9009, 9011, 9999, 10'002})
    EXPECT_EQ(result[place].item<double>(), before[place].item<double>()) << place;
}

// A step with a weight for the ranges' final rates is one with the rates that come of them.
TEST(OptimizerStep, FinalRatesOfTheRangesComeOnTop) {
  for (const Rule& rule : kRules) {
    const auto stepped = [&](const RangeRates& rates, const StepNumbers& numbers) {
      const at::Tensor params = start().to(testing::test_device());
      std::vector<at::Tensor> state;
      for (int64_t i = 0; i < num_states(rule.rule); ++i) state.push_back(torch::zeros_like(params));
      const RangeTable ranges = make_range_table({{0, kNumel}}, {rates}, testing::test_device());
      optimizer_step({params, gradient(0).to(params.device()), state}, ranges, {}, rule.rule, numbers);
      return params.cpu();
    };
    StepNumbers numbers = numbers_of(rule, 0);
    numbers.lr = 0.1;
    numbers.decay = 0.2;
    const at::Tensor expected = stepped({.lr_scale = 2.15, .l2_decay = 0.01, .decoupled_decay = 0.35}, numbers);
    numbers.final_weight = 0.5;
    const at::Tensor own =
        stepped({.lr_scale = 2, .l2_decay = 0.01, .decoupled_decay = 0.3, .final_lr = 0.03, .final_decay = 0.02}, numbers);
    EXPECT_LT(difference(own, expected), 1e-14) << rule.name;
  }
}

// In the seventh step, which is the third of the second range; whether the host counts the steps or the device.
TEST(OptimizerStep, ARangeThatBeganLaterHasBiasesOfItsOwn) {
  const auto stepped = [&](double steps, double begun_after, bool on_device) {
    const auto device = testing::test_device();
    const at::Tensor params = start().to(device);
    const std::vector<at::Tensor> state{torch::zeros_like(params), torch::zeros_like(params)};
    const RangeTable ranges = make_range_table({{0, 5000}, {5000, kNumel}}, {{}, {.begun_after = begun_after}}, device);
    StepNumbers numbers{.lr = 0.1, .momentum = 0.9, .beta2 = kBeta2, .eps = 1e-8};
    set_biases(numbers, on_device ? 1 : steps);
    GradientScale scale;
    if (on_device) {
      scale = {torch::ones({}, torch::kDouble).to(device),
               torch::tensor({1.0, 0.0, steps, 0.0, 0.0, 0.0}, torch::kDouble).to(device)};
    }
    optimizer_step({params, gradient(0).to(device), state}, ranges, scale, UpdateRule::kAdam, numbers);
    return params.cpu();
  };
  const at::Tensor seventh = stepped(7, 0, false), third = stepped(3, 0, false);
  ASSERT_GT(difference(seventh, third), 1e-3);
  for (const bool on_device : {false, true}) {
    const at::Tensor found = stepped(7, 4, on_device);
    EXPECT_LT(difference(found.slice(0, 0, 5000), seventh.slice(0, 0, 5000)), 1e-15) << on_device;
    EXPECT_LT(difference(found.slice(0, 5000), third.slice(0, 5000)), 1e-15) << on_device;
    EXPECT_LT(difference(stepped(7, 9, on_device).slice(0, 5000), stepped(1, 0, false).slice(0, 5000)), 1e-15)
        << on_device << ": some of the steps were skipped";
  }
}

TEST(OptimizerStep, StateMustFitTheRule) {
  const at::Tensor params = torch::zeros({4});
  const RangeTable ranges = make_range_table({{0, 4}}, {{}}, at::kCPU);
  EXPECT_THROW(optimizer_step({params, params, {}}, ranges, {}, UpdateRule::kAdam, {}), Error);
  EXPECT_THROW(optimizer_step({params, params, {params, params}}, ranges, {}, UpdateRule::kLamb, {}), Error);  // without norms
}

// All that a step writes, on arenas that begin `offset` values into a vector.
struct Written {
  at::Tensor params, average, copies;
  std::vector<at::Tensor> state;
};
Written write_all(const Rule& rule, at::ScalarType type, at::ScalarType copies, const GradientScale& scale, int64_t offset) {
  const auto arena = [&](const at::Tensor& values) {
    return torch::cat({torch::zeros({offset}, torch::kDouble), values}).to(testing::test_device(), type).slice(0, offset);
  };
  Written w{arena(start()), arena(start() + 1), arena(torch::zeros({kNumel}, torch::kDouble)).to(copies), {}};
  for (int64_t i = 0; i < num_states(rule.rule); ++i) w.state.push_back(arena(gradient(9).square()));
  StepNumbers numbers = numbers_of(rule, 0);
  numbers.average_weight = 0.25;
  optimizer_step({w.params, arena(gradient(0)), w.state, w.average, w.copies}, range_table(rule), scale, rule.rule, numbers);
  return w;
}

at::Tensor inside_ranges(const at::Tensor& arena) {
  std::vector<at::Tensor> pieces;
  for (const Range& range : kRanges) pieces.push_back(arena.slice(0, range.begin, range.end));
  return torch::cat(pieces);
}

TEST(OptimizerStep, AverageAndCopiesFollowTheNewWeights) {
  for (const Rule& rule : kRules) {
    for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
      for (const int64_t offset : {0, 1}) {
        const Written w = write_all(rule, at::kFloat, type, {}, offset);
        const at::Tensor now = inside_ranges(w.params);
        ASSERT_GT(difference(now.cpu(), inside_ranges(start())), 0.01) << rule.name;
        EXPECT_TRUE(inside_ranges(w.copies).equal(now.to(type))) << rule.name;
        const at::Tensor expected = 0.75 * inside_ranges(start() + 1) + 0.25 * now.cpu().to(at::kDouble);
        EXPECT_LT(difference(inside_ranges(w.average).cpu(), expected), 1e-6) << rule.name;  // a few roundings of 6e-8
      }
    }
  }
}

// Loss scaling lies on the device, and so does the decision to skip a step.
TEST(OptimizerStep, GradientsThatAreNotFiniteChangeNoWeight) {
  const auto number = [](double x) { return torch::tensor(x, torch::kDouble).to(testing::test_device()); };
  const at::Tensor scaling = torch::tensor({8.0, 3.0, 1.0, 1.0, 1.0, 0.0}, torch::kDouble).to(testing::test_device());
  for (const Rule& rule : kRules) {
    const Written skipped = write_all(rule, at::kFloat, at::kHalf, {number(NAN), scaling}, 0);
    EXPECT_TRUE(skipped.params.cpu().equal(start().to(at::kFloat))) << rule.name;
    for (const at::Tensor& state : skipped.state) EXPECT_TRUE(state.cpu().equal(gradient(9).square().to(at::kFloat)));
    EXPECT_TRUE(inside_ranges(skipped.average).cpu().equal(inside_ranges(start() + 1).to(at::kFloat))) << rule.name;
    // One step is counted: the biases are those of the first step, which numbers_of(rule, 0) has too.
    const Written counted = write_all(rule, at::kDouble, at::kHalf, {number(0.5), scaling}, 0),
                  told = write_all(rule, at::kDouble, at::kHalf, {number(0.5)}, 0);
    EXPECT_LT(difference(counted.params.cpu(), told.params.cpu()), 1e-15) << rule.name;
    EXPECT_GT(difference(counted.params.cpu(), start()), 0.01) << rule.name;
  }
}

}  // namespace
}  // namespace tessera
