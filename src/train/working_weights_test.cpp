#include "train/working_weights.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "infer/precision.h"
#include "nn/registry.h"
#include "support/tiny_experiment.h"

namespace tessera {
namespace {

// The gradients that autocast would leave in the arena, to the bit; twice as large when a second pass adds to them.
TEST(WorkingWeights, GradientsAreThoseOfAutocast) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    const Experiment e = testing::tiny_experiment({"model.unet.dropout=0"});
    const ModelPtr model = make_model(e.model, {3, 4}, 1);
    Arena arena(*model, at::kCPU, at::kFloat, /*channels_last=*/true);
    torch::manual_seed(6);
    const at::Tensor x = torch::randn({2, 3, 32, 32}).contiguous(at::MemoryFormat::ChannelsLast);
    const auto backward = [&] {
      const AutocastScope autocast(precision, at::kCPU);
      model->forward(x).logits().to(at::kFloat).square().mean().backward();
    };
    backward();
    const at::Tensor expected = arena.grads().clone();
    EXPECT_GT(expected.abs().sum().item<float>(), 0);
    arena.grads().zero_();

    WorkingWeights working(*model, arena, precision);
    {
      const WorkingWeights::Scope scope(working);
      const at::ScalarType type = model->parameters()[0].scalar_type();
      EXPECT_EQ(type, precision == Precision::kBf16 ? at::kBFloat16 : at::kFloat);
      backward();
      EXPECT_EQ(arena.grads().abs().sum().item<float>(), 0);
      working.collect(/*add=*/false);
      EXPECT_TRUE(arena.grads().equal(expected));
      backward();
      working.forget();
      backward();
      const int64_t half = arena.spans()[3].offset;  // in two slices, as buckets go out
      working.collect(half, arena.grads().numel(), /*add=*/true);
      working.collect(/*add=*/true);
      EXPECT_TRUE(arena.grads().equal(2 * expected));
      backward();
      working.collect_only_pass();
      EXPECT_TRUE(arena.grads().equal(expected));
      backward();
      const GradientPlace left_out = arena.places()[2];  // as if the loss did not reach it
      at::Tensor(left_out.parameter).mutable_grad().reset();
      arena.grads().fill_(7);
      working.collect_only_pass();
      at::Tensor without = expected.clone();
      without.narrow(0, left_out.offset, left_out.numel).zero_();
      EXPECT_TRUE(arena.grads().equal(without));
    }
    for (const GradientPlace& place : arena.places()) {
      EXPECT_EQ(place.parameter.data_ptr<float>(), arena.params().data_ptr<float>() + place.offset);
      EXPECT_EQ(place.parameter.grad().data_ptr<float>(), arena.grads().data_ptr<float>() + place.offset);
    }
  }
}

// What the optimizer has written there is taken as it is, until someone else changes the weights.
TEST(WorkingWeights, WrittenCopiesAreTakenUntilTheWeightsChange) {
  const Experiment e = testing::tiny_experiment();
  const ModelPtr model = make_model(e.model, {3, 4}, 1);
  Arena arena(*model, at::kCPU, at::kFloat, /*channels_last=*/true);
  WorkingWeights working(*model, arena, Precision::kBf16);
  const auto first_weight = [&] {
    const WorkingWeights::Scope scope(working);
    return model->parameters()[0].flatten()[0].item<float>();
  };
  arena.params().fill_(2);
  EXPECT_EQ(first_weight(), 2);
  at::Tensor copies = working.copies();
  copies.fill_(3);
  working.copies_written();
  EXPECT_EQ(first_weight(), 3);
  EXPECT_EQ(first_weight(), 3);
  arena.params().fill_(4);
  EXPECT_EQ(first_weight(), 4);
  EXPECT_FALSE(WorkingWeights(*model, arena, Precision::kFp32).copies().defined());
}

}  // namespace
}  // namespace tessera
