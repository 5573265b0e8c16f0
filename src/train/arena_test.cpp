#include "train/arena.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "support/tiny_experiment.h"

namespace tessera {
namespace {

TEST(Arena, ParametersGradientsAndBuffersAreViewsThatStay) {
  const Experiment e = testing::tiny_experiment();
  const ModelPtr model = make_model(e.model, {3, 4}, 1);
  const at::Tensor before = model->parameters()[0].detach().clone();
  Arena arena(*model, at::kCPU, at::kFloat, true);
  EXPECT_TRUE(model->parameters()[0].equal(before));
  model->train();
  for (int i = 0; i < 2; ++i) model->forward(torch::rand({2, 3, 16, 16})).logits().sum().backward();
  const auto inside = [](const at::Tensor& view, const at::Tensor& flat) {
    const auto* begin = static_cast<const float*>(flat.const_data_ptr());
    const auto* at = static_cast<const float*>(view.const_data_ptr());
    return at >= begin && at < begin + flat.numel();
  };
  for (const auto& item : model->named_parameters()) {
    EXPECT_TRUE(inside(item.value(), arena.params())) << item.key();
    EXPECT_TRUE(inside(item.value().grad(), arena.grads())) << item.key();
  }
  for (const auto& item : model->named_buffers()) EXPECT_TRUE(inside(item.value(), arena.buffers())) << item.key();
  EXPECT_GT(arena.grads().abs().sum().item<double>(), 0);
}

TEST(Arena, SpansNameHeadsNormsAndBiases) {
  const Experiment e = testing::tiny_experiment();
  const ModelPtr model = make_model(e.model, {3, 4}, 1);
  const Arena arena(*model, at::kCPU, at::kFloat, true);
  int64_t heads = 0, plain = 0;
  for (const ParamSpan& span : arena.spans()) {
    EXPECT_EQ(span.offset % 16, 0) << span.name;
    heads += span.is_head;
    plain += !span.is_norm_or_bias;
  }
  EXPECT_EQ(heads, 2);   // the classifier's weight and bias
  EXPECT_EQ(plain, 13);  // 2 x 2 down, 2 bottleneck, 2 up, 2 x 2 merge, 1 classifier
}

}  // namespace
}  // namespace tessera
