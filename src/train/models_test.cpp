// Everything the registry offers, in a small form: what holds for one model must hold for all.
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <set>

#include "core/files.h"
#include "data/batch/image_tensor.h"
#include "infer/checkpoint/checkpoint.h"
#include "infer/checkpoint/model_state.h"
#include "infer/evaluator.h"
#include "infer/pretrained.h"
#include "infer/trained_model.h"
#include "nn/op_counter.h"
#include "support/fixtures.h"
#include "support/norm_segments.h"
#include "support/small_models.h"
#include "support/source_dir.h"
#include "tensor/device.h"
#include "tensor/op_observer.h"
#include "tensor/step_context.h"
#include "train/train_step.h"

namespace tessera {
namespace {

using testing::first_batch;
using testing::small_model;

constexpr int kClasses = 4;

class EveryModel : public ::testing::TestWithParam<std::string> {
 protected:
  const testing::TempFolder folder_;
};

ModelPtr build(const Experiment& e) {
  return make_model(e.model, {e.data.channels, kClasses}, 3);
}

NamedTensors copy_of(const NamedTensors& tensors) {
  NamedTensors copies;
  for (const auto& [name, value] : tensors) copies.emplace_back(name, value.detach().clone());
  return copies;
}

constexpr int64_t kOddBatch = 5;  // of no weight's size: activations are known by it

// Copies of whole activations from one memory layout to another, by the operation that asked for them.
std::vector<std::string> layout_copies(const std::function<void()>& work) {
  std::mutex mutex;
  std::vector<std::string> found;
  const OpObserver observer(OpObserver::Threads::kAll, [&](std::string_view name, OpValues inputs) -> OpObserver::Finish {
    if (name != "aten::copy_" || inputs.size() < 2) return nullptr;
    const at::Tensor &to = inputs[0].toTensor(), &from = inputs[1].toTensor();
    const bool activation =
        to.dim() == 4 && to.size(0) == kOddBatch && to.size(1) > 1 && to.size(2) > 1 && to.sizes() == from.sizes();
    if (activation && to.suggest_memory_format() != from.suggest_memory_format()) {
      const std::lock_guard lock(mutex);
      found.push_back(fmt::format("{}: {} to {}", fmt::join(to.sizes(), " x "), fmt::join(from.strides(), ","),
                                  fmt::join(to.strides(), ",")));
    }
    return nullptr;
  });
  work();
  return found;
}

// Activations keep their layout from the image to the loss and back. Those left out pool or shrink with libtorch, which copies
// on a CPU; on a GPU LayoutCopiesGpu looks at all of them.
using ModelWithoutPools = EveryModel;
INSTANTIATE_TEST_SUITE_P(Registry, ModelWithoutPools, ::testing::Values("deeplabv3", "deeplabv3plus", "fcn", "segmenter"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(ModelWithoutPools, AStepCopiesNoActivationToAnotherLayout) {
  Experiment e = small_model(GetParam());
  e.train.batch_size = e.train.norm_group = kOddBatch;
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    e.train.precision = precision;
    TrainStep step(e, build(e), kClasses, at::kCPU);
    const Batch batch = first_batch(e);
    const std::vector<std::string> copies = layout_copies([&] { step.run(batch, {0, 100, 2}); });
    EXPECT_TRUE(copies.empty()) << fmt::format("{} copies: {}", copies.size(), fmt::join(copies, "; "));
  }
}

TEST_P(EveryModel, TrainsSavesLoadsAndEvaluatesAtAnOddSize) {
  const Experiment e = small_model(GetParam());
  const ModelPtr model = build(e);
  TrainStep step(e, model, kClasses, at::kCPU);
  const at::Tensor before = step.arena().params().clone();
  const StepResult result = step.run(first_batch(e), {0, 100, 2});
  EXPECT_TRUE(std::isfinite(result.loss.item<double>()));
  EXPECT_FALSE(step.arena().params().equal(before));
  EXPECT_TRUE(step.arena().params().isfinite().all().item<bool>());

  const DatasetPtr data = make_dataset(e.data, Split::kVal);
  const fs::path saved = folder_ / checkpoint_name(1);
  write_checkpoint(saved,
                   {model_state(*model), step.optimizer().state(), {}, {.step = 1}, data->classes(), experiment_yaml(e)});
  const TrainedModel trained = load_trained(saved, {"data.synthetic.size=[37, 53]"});
  const DatasetPtr odd = make_dataset(trained.experiment.data, Split::kVal);
  World alone;
  Evaluator evaluator(trained.experiment, odd, alone);
  const EvalResult measured = evaluator.run(trained.predictor());
  EXPECT_EQ(measured.num_images, odd->size());
  int64_t pixels = 0;
  for (const int64_t count : measured.confusion) pixels += count;
  EXPECT_EQ(pixels, odd->size() * 37 * 53);
  // The model in memory and the one from the disk are the same function.
  const Image image = evaluator.samples().load(0).sample.image;
  const at::Tensor ours = Predictor(trained.experiment, model, at::kCPU).scores(image_tensor(image), image.max_value).full();
  EXPECT_EQ(ours.sizes(), (std::vector<int64_t>{1, kClasses, 37, 53}));
  // To rounding: weights of the arena lie channels-last, loaded ones do not, and convolutions sum in another order.
  EXPECT_TRUE(torch::allclose(ours, trained.predictor().scores(image_tensor(image), image.max_value).full(), 1e-3, 1e-4));
}

struct Gradients {
  NamedTensors values, buffers;
  int64_t layers_run = 0;  // convolutions and linear layers, in the forward and the backward pass
};

Gradients gradients_of(const std::string& name, bool checkpoint) {
  std::vector<std::string> overrides;
  for (const char* group : {"unet", "backbone", "segmenter", "upernet_vit"})
    overrides.push_back(fmt::format("model.{}.checkpoint={}", group, checkpoint));
  const Experiment e = small_model(name, overrides);
  const ModelPtr model = build(e);
  model->to(at::kDouble);
  model->train();
  torch::manual_seed(7);
  const at::Tensor x = torch::randn({4, 3, 37, 53}, at::kDouble);
  Gradients result;
  {
    const OpCounter counter(
        [&](const CountedOp& op) { result.layers_run += op.name == "aten::conv2d" || op.name == "aten::linear" ? 1 : 0; });
    const StepContextGuard context({.sample_keys = sample_keys(3, 2, {0, 1, 2, 3}), .segments = testing::norm_segments(4, 2)});
    const ModelOutput output = model->forward(x);
    at::Tensor loss = output.logits().square().mean();
    for (const at::Tensor& aux : output.aux) loss = loss + aux.square().mean();
    loss.backward();
  }
  for (const auto& item : model->named_parameters()) result.values.emplace_back(item.key(), item.value().grad());
  for (const auto& item : model->named_buffers()) result.buffers.emplace_back(item.key(), item.value());
  return result;
}

TEST_P(EveryModel, ActivationCheckpointingChangesMemoryOnly) {
  const Gradients plain = gradients_of(GetParam(), false), recomputed = gradients_of(GetParam(), true);
  for (size_t i = 0; i < plain.values.size(); ++i) {
    const auto& [name, gradient] = plain.values[i];
    ASSERT_TRUE(gradient.defined()) << name << " has no part in the loss";
    EXPECT_TRUE(torch::allclose(gradient, recomputed.values[i].second, 1e-9, 1e-12)) << name;
  }
  for (size_t i = 0; i < plain.buffers.size(); ++i)
    EXPECT_TRUE(plain.buffers[i].second.equal(recomputed.buffers[i].second)) << plain.buffers[i].first;
  // A model whose settings have a group in the config must have the option and follow it: most layers run twice.
  ModelConfig defaults;
  for (const SchemaLine& line : ConfigWriter::lines(defaults)) {
    if (!line.is_group || line.key != GetParam()) continue;
    EXPECT_GT(2 * recomputed.layers_run, 3 * plain.layers_run);
  }
}

TEST_P(EveryModel, FrozenPartsDoNotMove) {
  // The part nearest the image.
  const std::string part = build(small_model(GetParam()))->named_children()[0].key();
  const Experiment e = small_model(GetParam(), {"model.freeze=[" + part + "]", "optimizer.weight_decay=0.1"});
  const ModelPtr model = build(e);
  TrainStep step(e, model, kClasses, at::kCPU);
  const NamedTensors before = copy_of(model_state(*model));
  step.run(first_batch(e), {0, 100, 2});
  const NamedTensors after = model_state(*model);
  int64_t moved = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    const bool same = before[i].second.equal(after[i].second);
    EXPECT_TRUE(same || !before[i].first.starts_with(part + ".")) << before[i].first;
    moved += same ? 0 : 1;
  }
  EXPECT_GT(moved, 0);
}

using ModelOnResNet = EveryModel;
INSTANTIATE_TEST_SUITE_P(Registry, ModelOnResNet,
                         ::testing::Values("deeplabv3", "deeplabv3plus", "fcn", "pspnet", "unet_resnet", "upernet"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(ModelOnResNet, FrozenBatchNormsKeepTheirStatistics) {
  const Experiment e = small_model(GetParam(), {"model.backbone.freeze_batch_norm=true", "model.backbone.freeze_stages=1"});
  const ModelPtr model = build(e);
  TrainStep step(e, model, kClasses, at::kCPU);
  const NamedTensors before = copy_of(model_state(*model));
  step.run(first_batch(e), {0, 100, 2});
  const NamedTensors after = model_state(*model);
  bool has_resnet = false;
  for (size_t i = 0; i < before.size(); ++i) {
    const std::string& name = before[i].first;
    const bool is_backbone = name.starts_with("backbone.layer") || name.starts_with("encoder.layer");
    has_resnet = has_resnet || is_backbone;
    const bool is_frozen =
        is_backbone && (name.find("running_") != std::string::npos || name.find(".layer1.") != std::string::npos);
    const bool same = before[i].second.equal(after[i].second);
    EXPECT_TRUE(same || !is_frozen) << name;
    EXPECT_FALSE(same && name.ends_with("layer4.1.bn2.weight")) << name;
  }
  EXPECT_TRUE(has_resnet);
}

// Weights learnt on RGB, for images of 1 and 5 channels: grey sees what RGB sees of a grey image; else the filters are repeated
// and scaled by 3 / 5.
TEST_P(EveryModel, TakesOtherChannelsAndAdaptsPretrainedFilters) {
  const ModelPtr rgb = build(small_model(GetParam()));
  const fs::path file = folder_ / "rgb.safetensors";
  write_file(file, encode_safetensors(model_state(*rgb)));
  const at::Tensor grey_image = torch::linspace(-1, 1, 2 * 37 * 53).view({2, 1, 37, 53}).mul(7).sin();
  for (const int64_t channels : {1, 5}) {
    const Experiment e = small_model(
        GetParam(), {fmt::format("data.channels={}", channels), "data.normalize={mean: [0.5], std: [0.3]}", "train.seed=99"});
    const ModelPtr model = make_model(e.model, {channels, kClasses}, 99);
    ModelConfig from_file = e.model;
    from_file.pretrained = file;
    const MatchReport report = load_pretrained(*model, from_file);
    EXPECT_EQ(report.count(MatchStatus::kReshaped), 1U) << report.table();
    EXPECT_EQ(report.count(MatchStatus::kLoaded) + 1, model_state(*model).size()) << report.table();
    rgb->eval();
    model->eval();
    if (channels == 1) {
      const at::NoGradGuard no_grad;
      const at::Tensor expected = rgb->forward(grey_image.expand({2, 3, 37, 53}).contiguous()).logits();
      EXPECT_TRUE(torch::allclose(model->forward(grey_image).logits(), expected, 1e-3, 1e-4));
    } else {
      const auto named = rgb->named_parameters();
      for (const auto& item : model->named_parameters()) {
        const at::Tensor& from = named[item.key()];
        if (from.sizes() == item.value().sizes()) continue;
        const at::Tensor expected = at::cat({from, from.slice(1, 0, 2)}, 1) * (3.0 / 5);
        EXPECT_TRUE(torch::allclose(item.value(), expected)) << item.key();
      }
    }
    model->train();
    TrainStep step(e, model, kClasses, at::kCPU);
    Batch batch = first_batch(small_model(GetParam()));
    batch.images = batch.images.slice(3, 0, 1).repeat({1, 1, 1, channels});
    EXPECT_TRUE(std::isfinite(step.run(batch, {0, 100, 2}).loss.item<double>()));
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryModel, ::testing::ValuesIn(model_names()),
                         [](const auto& info) { return std::string(info.param); });

// Every config in configs/, with as many classes as its data says.
TEST(Configs, EachBuildsItsModel) {
  ::setenv("TESSERA_DATA", "/data", 0);
  std::set<std::string> built;
  for (const fs::path& file : list_files(testing::source_dir() + "/configs")) {
    const std::string folder = file.parent_path().filename();
    if (file.extension() != ".yaml" || folder == "studies" || folder == "suites" || folder == "recipes") continue;
    Experiment e = load_experiment(file);
    std::string model;
    for (const SchemaLine& line : ConfigWriter::lines(e.model)) model += line.value + ";";
    if (!built.insert(model).second) continue;
    // Narrow is enough to see that the parts fit together, and quick.
    ModelConfig& m = e.model;
    m.backbone.width = m.backbone.stem_width = 4;
    m.pspnet.channels = m.upernet.channels = m.upernet_vit.head.channels = m.deeplabv3.channels = 8;
    m.deeplabv3plus.channels = m.fcn.channels = 8;
    for (int64_t& channels : m.unet.channels) channels = std::max<int64_t>(1, channels / 8);
    m.unet.bottleneck /= 8;
    for (VitConfig* vit : {static_cast<VitConfig*>(&m.segmenter), static_cast<VitConfig*>(&m.upernet_vit)}) {
      vit->width = 16;
      vit->heads = 2;
    }
    const ModelPtr network = make_model(e.model, {e.data.channels, 150}, 0);
    network->eval();
    const at::NoGradGuard no_grad;
    const at::Tensor logits = network->forward(torch::zeros({1, e.data.channels, 64, 64})).logits();
    EXPECT_EQ(logits.size(1), 150) << file;
  }
  EXPECT_GE(built.size(), 20U);
}

}  // namespace
}  // namespace tessera
