// Every registered model, in a small form, segment by segment: see Note [Segments].
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>

#include <optional>
#include <set>

#include "infer/checkpoint/model_state.h"
#include "kernels/common/fused.h"
#include "support/norm_segments.h"
#include "support/small_models.h"
#include "tensor/step_context.h"

namespace tessera {
namespace {

// A registered model or, with "_supervised" behind its name, one whose decoder has losses at lower heights.
Experiment small_model(const std::string& name, std::vector<std::string> overrides = {}) {
  const size_t suffix = name.find("_supervised");
  if (suffix == std::string::npos) return testing::small_model(name, overrides);
  const std::vector<std::string> heights{"model.unet.channels=[8, 16, 16]", "model.unet.deep_supervision=2",
                                         "model.unet_resnet.deep_supervision=3"};
  overrides.insert(overrides.begin(), heights.begin(), heights.end());
  return testing::small_model(name.substr(0, suffix), overrides);
}

std::vector<std::string> all_names() {
  std::vector<std::string> names = model_names();
  names.insert(names.end(), {"unet_supervised", "unet_resnet_supervised"});
  return names;
}

struct Outcome {
  ModelOutput output;
  NamedTensors gradients, buffers;
};

at::Tensor loss_of(const ModelOutput& output) {
  at::Tensor loss = output.logits().square().mean();
  for (const at::Tensor& aux : output.aux) loss = loss + 0.4 * aux.square().mean();
  return loss;
}

// Runs the model forwards and backwards.
using Pass = std::function<ModelOutput(SegmentationModel&, const at::Tensor& x)>;

ModelOutput whole_pass(SegmentationModel& model, const at::Tensor& x) {
  ModelOutput output = model.forward(x);
  loss_of(output).backward();
  return output;
}

ModelOutput pass_by_hand(SegmentationModel& model, const at::Tensor& x) {
  Tensors state{x};
  for (const Segment& segment : model.segments()) {
    state = segment.run(state);
    std::set<const at::TensorImpl*> seen;
    for (const at::Tensor& value : state) {
      EXPECT_TRUE(value.defined()) << segment.name;
      EXPECT_TRUE(seen.insert(value.unsafeGetTensorImpl()).second) << segment.name << " has a tensor in its state twice";
    }
  }
  ModelOutput output = ModelOutput::of(state);
  loss_of(output).backward();
  return output;
}

// As a pipeline would with a segment on each rank: what goes over to the next is cut out of the graph, and its gradient comes
// back from there.
ModelOutput cut_pass(SegmentationModel& model, const at::Tensor& x) {
  std::vector<Tensors> received{{x}}, left;
  for (const Segment& segment : model.segments()) {
    left.push_back(segment.run(received.back()));
    Tensors cut;
    for (const at::Tensor& value : left.back()) cut.push_back(value.detach().requires_grad_());
    received.push_back(cut);
  }
  ModelOutput output = ModelOutput::of(received.back());
  loss_of(output).backward();
  for (size_t i = left.size(); i-- > 0;) {
    Tensors roots, gradients;
    for (size_t n = 0; n < left[i].size(); ++n) {
      const at::Tensor gradient = received[i + 1][n].grad();
      if (!gradient.defined() || !left[i][n].requires_grad()) continue;  // a size, or of a frozen part
      roots.push_back(left[i][n]);
      gradients.push_back(gradient);
    }
    torch::autograd::backward(roots, gradients);
  }
  return output;
}

struct Case {
  bool training = true;
  bool checkpoint = false;
  bool fused = false;  // transformers as on a GPU: the state then has a parameter in it
};

Outcome outcome_of(const std::string& name, const Case& with, at::ScalarType type, const Pass& pass) {
  std::vector<std::string> overrides;
  for (const char* group : {"unet", "backbone", "segmenter", "upernet_vit"})
    overrides.push_back(fmt::format("model.{}.checkpoint={}", group, with.checkpoint));
  if (with.fused) overrides.insert(overrides.end(), {"model.segmenter.drop_path=0", "model.upernet_vit.drop_path=0"});
  const ModelPtr model = make_model(small_model(name, overrides).model, {3, 4}, 3);
  model->to(type);
  model->train(with.training);
  torch::manual_seed(7);
  const at::Tensor x = torch::randn({4, 3, 37, 53}, type);
  std::optional<FusedTransformerGuard> guard;
  if (with.fused) guard.emplace();
  const StepContextGuard context({.sample_keys = sample_keys(3, 2, {0, 1, 2, 3}), .segments = testing::norm_segments(4, 2)});
  Outcome outcome{pass(*model, x), {}, {}};
  for (const auto& item : model->named_parameters()) outcome.gradients.emplace_back(item.key(), item.value().grad());
  for (const auto& item : model->named_buffers()) outcome.buffers.emplace_back(item.key(), item.value());
  return outcome;
}

void expect_same(const NamedTensors& found, const NamedTensors& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const auto& [name, value] = expected[i];
    ASSERT_EQ(found[i].second.defined(), value.defined()) << name;
    if (!value.defined()) continue;
    if (tolerance == 0) {
      EXPECT_TRUE(found[i].second.equal(value)) << name;
    } else {
      EXPECT_TRUE(torch::allclose(found[i].second, value, tolerance, 1e-3 * tolerance)) << name;
    }
  }
}

void expect_same(const Outcome& found, const Outcome& expected, double tolerance) {
  EXPECT_TRUE(found.output.logits().equal(expected.output.logits()));
  ASSERT_EQ(found.output.aux.size(), expected.output.aux.size());
  for (size_t i = 0; i < expected.output.aux.size(); ++i) EXPECT_TRUE(found.output.aux[i].equal(expected.output.aux[i]));
  expect_same(found.gradients, expected.gradients, tolerance);
  expect_same(found.buffers, expected.buffers, 0);
}

class EveryModelInSegments : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryModelInSegments, OneAfterAnotherTheyAreTheModel) {
  for (const Case& with : {Case{}, Case{.training = false}, Case{.checkpoint = true}, Case{.fused = true},
                           Case{.training = false, .checkpoint = true}}) {
    const Outcome whole = outcome_of(GetParam(), with, at::kFloat, whole_pass);
    expect_same(outcome_of(GetParam(), with, at::kFloat, pass_by_hand), whole, 0);
  }
}

// float64: where a tensor is read by several segments, the sum of its gradients goes in another order.
TEST_P(EveryModelInSegments, CutApartTheyHaveTheSameGradients) {
  for (const Case& with : {Case{}, Case{.checkpoint = true}, Case{.fused = true}}) {
    const Outcome whole = outcome_of(GetParam(), with, at::kDouble, whole_pass);
    expect_same(outcome_of(GetParam(), with, at::kDouble, cut_pass), whole, 1e-9);
  }
}

TEST_P(EveryModelInSegments, EachParameterBelongsToOneOfThem) {
  const ModelPtr model = make_model(small_model(GetParam()).model, {3, 4}, 3);
  std::set<const at::TensorImpl*> owned;
  for (const Segment& segment : model->segments()) {
    EXPECT_FALSE(segment.parameters.empty()) << segment.name;
    for (const at::Tensor& value : segment.parameters)
      EXPECT_TRUE(owned.insert(value.unsafeGetTensorImpl()).second) << segment.name;
  }
  EXPECT_EQ(owned.size(), model->parameters().size());
}

TEST_P(EveryModelInSegments, EachCanBeFrozenByName) {
  const ModelPtr whole = make_model(small_model(GetParam()).model, {3, 4}, 3);
  std::vector<std::string> names;
  for (const Segment& segment : whole->segments()) names.push_back(segment.name);
  ASSERT_GT(names.size(), 1U);
  for (const std::string& name : names) {
    const ModelPtr model = make_model(small_model(GetParam(), {"model.freeze=[" + name + "]"}).model, {3, 4}, 3);
    for (const Segment& segment : model->segments()) {
      for (const at::Tensor& value : segment.parameters) EXPECT_EQ(value.requires_grad(), segment.name != name) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryModelInSegments, ::testing::ValuesIn(all_names()),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tessera
