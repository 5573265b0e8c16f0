#include "optim/optimizer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>

#include "core/error.h"
#include "optim/clip.h"
#include "support/config_from_json.h"
#include "support/fixtures.h"

namespace tessera {
namespace {

using testing::config_from_json;

// The inputs of tests/interop/make_torch_optim.py: a backbone weight, a backbone bias, a head weight.
const std::vector<ParamSpan> kSpans = {
    {"conv.weight", 0, 5, false, false}, {"bn.bias", 5, 3, true, false}, {"head.weight", 8, 4, false, true}};
constexpr int64_t kNumel = 12;
constexpr std::array kAllTypes = {OptimizerType::kSgd,   OptimizerType::kDecoupledSgd, OptimizerType::kAdam,
                                  OptimizerType::kAdamW, OptimizerType::kLamb,         OptimizerType::kLars,
                                  OptimizerType::kLion};

at::Tensor initial(at::ScalarType dtype) {
  return (((at::arange(kNumel, at::kLong) * 37 + 11) % 29 - 14).to(at::kDouble) / 10).to(dtype);
}

at::Tensor gradient(int64_t step, at::ScalarType dtype) {
  at::Tensor g = ((at::arange(kNumel, at::kLong) * 53 + step * 19 + 7) % 31 - 15).to(at::kDouble) / 8;
  g[2] = 0;
  return g.to(dtype);
}

double largest_difference(const at::Tensor& params, const nlohmann::json& expected) {
  const at::Tensor row = at::tensor(expected.get<std::vector<double>>(), at::kDouble);
  return (params.to(at::kDouble) - row).abs().max().item<double>();
}

// Ten steps of the fixture's learning rate; checks the parameters after each.
void follow(const nlohmann::json& entry, at::ScalarType dtype, bool fused, double tolerance, const LrRange& lr,
            const std::function<LrPoint(int64_t step)>& point_at) {
  const OptimizerConfig config = config_from_json<OptimizerConfig>(entry.at("config"));
  at::Tensor params = initial(dtype);
  Optimizer optimizer(config, lr, kSpans, params, fused);
  for (int64_t step = 0; step < 10; ++step) {
    const at::Tensor grads = gradient(step, dtype);
    const at::Tensor clip_factor = clip_grad_norm(grads, config.clip_norm).clip_factor;
    optimizer.step(params, grads, point_at(step), std::nullopt, {.scale = {clip_factor}});
    EXPECT_LT(largest_difference(params, entry.at("params")[static_cast<size_t>(step)]), tolerance)
        << entry.at("config") << entry.value("schedule", nlohmann::json()) << " step " << step
        << (fused ? " fused" : " tensors");
  }
  EXPECT_EQ(optimizer.step_count(), 10);
}

TEST(Optimizer, TenStepsAreThoseOfTorch) {
  const auto fixture = testing::load_fixture("torch_optim.json");
  ASSERT_EQ(fixture.at("optimizers").size(), 21);
  const auto falling = [](int64_t step) -> LrPoint { return {std::pow(1 - static_cast<double>(step) / 10, 0.9)}; };
  for (const auto& entry : fixture.at("optimizers")) {
    const LrRange lr{entry.at("config").at("lr")};
    for (const bool fused : {true, false}) {
      follow(entry, at::kDouble, fused, 1e-12, lr, falling);  // a few roundings of 1e-16 per step, on values up to 10
      follow(entry, at::kFloat, fused, 1e-6, lr, falling);    // the same with 6e-8 per rounding of updates, which are below 1
    }
  }
}

// The head's rate is a multiple of the others' and ends where they do, as eta_min of torch's and mmengine's schedulers.
TEST(Optimizer, FinalRateIsThatOfEveryGroupAsInTorchAndMmengine) {
  const auto fixture = testing::load_fixture("torch_optim.json");
  ASSERT_EQ(fixture.at("scheduled").size(), 42);
  for (const auto& entry : fixture.at("scheduled")) {
    const ScheduleConfig schedule = config_from_json<ScheduleConfig>(entry.at("schedule"));
    const LrRange lr = lr_range(config_from_json<OptimizerConfig>(entry.at("config")), schedule, 1);
    const auto point_at = [&](int64_t step) { return lr_point_at(schedule, {step, 10, 5}); };
    for (const bool fused : {true, false}) {
      follow(entry, at::kDouble, fused, 1e-12, lr, point_at);
      follow(entry, at::kFloat, fused, 1e-6, lr, point_at);
    }
  }
}

// optimizer.weight_decay is "the share of a weight lost per step at the full lr", also where that was scaled to the batch.
TEST(Optimizer, DecoupledDecayDoesNotDependOnTheSizeOfTheFullRate) {
  OptimizerConfig config;
  config.type = OptimizerType::kDecoupledSgd;
  config.lr = 0.1;
  config.weight_decay = 0.05;
  config.base_batch = 16;
  for (const LrScaling scaling : {LrScaling::kNone, LrScaling::kLinear, LrScaling::kSqrt}) {
    config.lr_scaling = scaling;
    for (const bool fused : {true, false}) {
      at::Tensor params = initial(at::kDouble);
      Optimizer optimizer(config, lr_range(config, {}, 128), kSpans, params, fused);
      optimizer.step(params, at::zeros_like(params), {});
      EXPECT_DOUBLE_EQ(params[0].item<double>(), 0.95 * initial(at::kDouble)[0].item<double>()) << name_of(scaling);
    }
  }
}

// The head is left alone for four steps; from then on it goes the way of an optimizer that begins there, while the others never
// notice.
TEST(Optimizer, WhatRestsStandsStillAndThenBeginsAsIfJustAdded) {
  for (const OptimizerType type : kAllTypes) {
    for (const bool fused : {true, false}) {
      OptimizerConfig config;
      config.type = type;
      config.weight_decay = 0.05;
      const LrRange lr{0.02};
      at::Tensor params = initial(at::kDouble), others = params.clone(), alone = params.clone();
      Optimizer optimizer(config, lr, kSpans, params, fused), all(config, lr, kSpans, params, fused),
          later(config, lr, {kSpans[2]}, params, fused);
      std::vector<ParamSpan> spans = kSpans;
      spans[2].at_rest = true;
      optimizer.set_spans(spans);
      for (int64_t step = 0; step < 10; ++step) {
        if (step == 4) {
          spans[2].at_rest = false;
          spans[2].begun_after = 4;
          optimizer.set_spans(spans);
        }
        at::Tensor grads = gradient(step, at::kDouble);
        all.step(others, grads, {});
        if (step >= 4) later.step(alone, grads, {});
        if (step < 4) grads.slice(0, 8).zero_();
        optimizer.step(params, grads, {});
        EXPECT_TRUE(params.slice(0, 0, 8).equal(others.slice(0, 0, 8))) << name_of(type) << " step " << step;
        EXPECT_LT((params - alone).slice(0, 8).abs().max().item<double>(), 1e-15) << name_of(type) << " step " << step;
      }
    }
  }
}

TEST(Optimizer, WhatHasNoLearningRateStandsStill) {
  for (const OptimizerType type : kAllTypes) {
    OptimizerConfig config;
    config.type = type;
    config.weight_decay = 0.05;
    config.head_lr_multiplier = 0;
    at::Tensor params = initial(at::kDouble);
    Optimizer optimizer(config, {0.1, 0.01}, kSpans, params);
    for (int64_t step = 0; step < 3; ++step) optimizer.step(params, gradient(step, at::kDouble), {0.5, 0.5});
    EXPECT_TRUE(params.slice(0, 8).equal(initial(at::kDouble).slice(0, 8))) << name_of(type);
    EXPECT_FALSE(params[0].equal(initial(at::kDouble)[0])) << name_of(type);
  }
}

TEST(Optimizer, ThreadsAndRunsDoNotChangeABit) {
  constexpr int64_t kLarge = 300'001;  // several threads' worth, ends within a vector
  const int threads = at::get_num_threads();
  for (const OptimizerType type :
       {OptimizerType::kSgd, OptimizerType::kAdamW, OptimizerType::kLamb, OptimizerType::kLars, OptimizerType::kLion}) {
    OptimizerConfig config;
    config.type = type;
    config.weight_decay = 0.1;
    const at::Tensor start = at::sin(at::arange(kLarge, at::kFloat));
    const at::Tensor grads = at::cos(at::arange(kLarge, at::kFloat) * 3);
    std::vector<ParamSpan> one = {{"all", 0, kLarge, false, false}};
    std::vector<ParamSpan> many;
    for (int64_t at = 0; at < kLarge; at += 1237)
      many.push_back({"p", at, std::min<int64_t>(1237, kLarge - at), at % 2 == 0, false});
    config.decay_norm_and_bias = true;
    std::vector<at::Tensor> results;
    for (const auto& spans : {one, many}) {
      const bool by_tensor = type == OptimizerType::kLamb || type == OptimizerType::kLars;
      if (by_tensor && spans.size() > 1) continue;  // there a tensor's extent is part of the rule
      for (const int count : {1, 2}) {
        at::set_num_threads(count);
        at::Tensor params = start.clone();
        Optimizer optimizer(config, {config.lr}, spans, params);
        for (int step = 0; step < 3; ++step) optimizer.step(params, grads, {});
        results.push_back(params);
      }
    }
    at::set_num_threads(threads);
    for (const at::Tensor& result : results) EXPECT_TRUE(at::equal(result, results[0]));
  }
}

TEST(Optimizer, RestoredStateGoesOnToTheSameBit) {
  for (const OptimizerType type : kAllTypes) {
    OptimizerConfig config;
    config.type = type;
    config.weight_decay = 0.01;
    at::Tensor params = initial(at::kFloat);
    Optimizer optimizer(config, {config.lr}, kSpans, params);
    for (int64_t step = 0; step < 3; ++step) optimizer.step(params, gradient(step, at::kFloat), {});

    at::Tensor other = params.clone();
    Optimizer resumed(config, {config.lr}, kSpans, other);
    for (size_t i = 0; i < optimizer.state().size(); ++i) {
      EXPECT_EQ(optimizer.state()[i].first, resumed.state()[i].first);
      at::Tensor target = resumed.state()[i].second;
      target.copy_(optimizer.state()[i].second);
    }
    resumed.set_step_count(optimizer.step_count());
    optimizer.step(params, gradient(3, at::kFloat), {});
    resumed.step(other, gradient(3, at::kFloat), {});
    EXPECT_TRUE(at::equal(params, other)) << name_of(type);
  }
}

TEST(Optimizer, MomentumOfTheStepReplacesTheConfigured) {
  OptimizerConfig config;  // sgd, momentum 0.9
  at::Tensor params = at::zeros({kNumel}, at::kDouble);
  const at::Tensor grads = at::ones({kNumel}, at::kDouble);
  Optimizer optimizer(config, {1.0}, kSpans, params);
  optimizer.step(params, grads, {}, 0.5);
  optimizer.step(params, grads, {}, 0.5);
  EXPECT_DOUBLE_EQ(params[0].item<double>(), -1 - 1.5);
}

// A step writes the average and the copies, and skips itself, with and without the kernel.
TEST(Optimizer, WritesTheAverageAndTheCopies) {
  for (const OptimizerType type : {OptimizerType::kSgd, OptimizerType::kLamb, OptimizerType::kLion}) {
    for (const bool fused : {true, false}) {
      OptimizerConfig config;
      config.type = type;
      at::Tensor params = initial(at::kFloat);
      StepExtras extras{.average = params.clone(), .average_weight = 0.25, .copies = params.to(at::kHalf)};
      extras.scale = {at::scalar_tensor(0.5, at::kDouble), at::tensor({2.0, 0.0, 1.0, 0.0, 1.0, 0.0}, at::kDouble)};
      Optimizer optimizer(config, {0.1}, kSpans, params, fused);
      optimizer.step(params, gradient(0, at::kFloat), {}, std::nullopt, extras);
      const at::Tensor before = initial(at::kFloat), after = params.clone();
      EXPECT_GT((after - before).abs().max().item<float>(), 0.01F);
      EXPECT_TRUE(at::allclose(extras.average, before + 0.25 * (after - before), 1e-6, 1e-7));
      EXPECT_TRUE(extras.copies.equal(after.to(at::kHalf)));
      extras.scale.clip_factor.fill_(NAN);
      optimizer.step(params, gradient(1, at::kFloat), {}, std::nullopt, extras);
      EXPECT_TRUE(params.equal(after));
    }
  }
}

TEST(Optimizer, StateArenasAreNamed) {
  OptimizerConfig config;
  const at::Tensor params = initial(at::kFloat);
  EXPECT_EQ(Optimizer(config, {config.lr}, kSpans, params).state()[0].first, "momentum");
  config.momentum = 0;
  EXPECT_TRUE(Optimizer(config, {config.lr}, kSpans, params).state().empty());
  config.type = OptimizerType::kAdamW;
  EXPECT_EQ(Optimizer(config, {config.lr}, kSpans, params).state()[1].first, "exp_avg_sq");
  config.type = OptimizerType::kLion;
  ASSERT_EQ(Optimizer(config, {config.lr}, kSpans, params).state().size(), 1U);
  EXPECT_EQ(Optimizer(config, {config.lr}, kSpans, params).state()[0].first, "exp_avg");
  config.type = OptimizerType::kLars;
  EXPECT_EQ(Optimizer(config, {config.lr}, kSpans, params).state()[0].first, "momentum");
}

TEST(Optimizer, WrongSettingsAndArenasAreRefused) {
  OptimizerConfig config;
  at::Tensor params = initial(at::kFloat);
  Optimizer optimizer(config, {config.lr}, kSpans, params);
  EXPECT_THROW(optimizer.step(params, gradient(0, at::kDouble), {}), Error);
  EXPECT_THROW(optimizer.step(params, gradient(0, at::kFloat).narrow(0, 0, 5), {}), Error);
  EXPECT_THROW(Optimizer(config, {config.lr}, kSpans, params.narrow(0, 0, 10)), Error);
  config.betas = {0.9};
  EXPECT_THROW(Optimizer(config, {config.lr}, kSpans, params), UsageError);
  config.betas = {0.9, 0.999};
  config.nesterov = true;
  config.momentum = 0;
  EXPECT_THROW(Optimizer(config, {config.lr}, kSpans, params), UsageError);
}

}  // namespace
}  // namespace tessera
