// Where every model of the registry starts, beside the library that it follows: tests/interop/make_init.py.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <map>
#include <set>

#include "config/experiment.h"
#include "core/error.h"
#include "nn/model.h"
#include "support/fixtures.h"
#include "weights/maps/key_map.h"

namespace tessera {
namespace {

// Of all values of a parameter over several seeds.
struct Moments {
  int64_t count;
  double mean;       // in deviations; the value itself where all are equal
  double deviation;  // 0: all are equal
  double kurtosis;   // 1.8 for a uniform distribution, 3 for a normal one
  double largest;    // of the magnitudes
};

Moments moments_of(const std::vector<at::Tensor>& draws) {
  const at::Tensor all = at::cat(draws).to(at::kDouble);
  const double mean = all.mean().item<double>(), largest = all.abs().max().item<double>();
  const at::Tensor square = (all - mean).square();
  const double variance = square.mean().item<double>(), deviation = std::sqrt(variance);
  if (variance == 0) return {all.numel(), mean, 0, 0, largest};
  return {all.numel(), mean / deviation, deviation, square.square().mean().item<double>() / (variance * variance), largest};
}

// A statistic of `count` draws scatters around its true value with a known deviation; so the difference of two such statistics
// stays within five deviations of it, save for one in 1.7 million.
void expect_same_distribution(const Moments& ours, const Moments& theirs, const std::string& name) {
  ASSERT_EQ(ours.count, theirs.count) << name;
  if (theirs.deviation == 0) {
    EXPECT_EQ(ours.deviation, 0) << name;
    EXPECT_EQ(ours.mean, theirs.mean) << name;
    return;
  }
  ASSERT_GT(ours.deviation, 0) << name;
  const double per_draw = 2.0 / static_cast<double>(theirs.count);  // two samples
  EXPECT_NEAR(ours.mean, theirs.mean, 5 * std::sqrt(per_draw)) << name;
  EXPECT_NEAR(ours.deviation / theirs.deviation, 1, 5 * std::sqrt((theirs.kurtosis - 1) / 4 * per_draw)) << name;
  // Of a normal distribution; a uniform one's scatters less.
  EXPECT_NEAR(ours.kurtosis, theirs.kurtosis, 5 * std::sqrt(24 * per_draw)) << name;
  constexpr int64_t kManyDraws = 5000;
  const bool ends = theirs.kurtosis < 2.6 && theirs.count >= kManyDraws;  // uniform, or cut at two deviations
  if (ends) {
    // The largest of n lies below the end by a share of about 1 / n (uniform) or 4.4 / n (cut normal, which is thin there).
    EXPECT_NEAR(ours.largest / theirs.largest, 1, 100 / static_cast<double>(theirs.count)) << name;
  } else {
    EXPECT_NEAR(ours.largest / ours.deviation, theirs.largest / theirs.deviation, 3) << name;
  }
}

const std::map<std::string, WeightLayout> kLayouts{{"tessera", WeightLayout::kTessera},
                                                   {"torchvision", WeightLayout::kTorchvision},
                                                   {"mmseg", WeightLayout::kMmseg},
                                                   {"smp", WeightLayout::kSmp},
                                                   {"segmenter", WeightLayout::kSegmenter}};

ModelConfig config_of(const nlohmann::json& row) {
  return load_experiment("", row.at("settings").get<std::vector<std::string>>()).model;
}

ModelPtr make(const nlohmann::json& row, uint64_t seed) {
  return make_model(config_of(row), {row.at("channels"), row.at("classes")}, seed);
}

std::set<std::string> parameter_names(const SegmentationModel& model) {
  std::set<std::string> names;
  for (const auto& item : model.named_parameters()) names.insert(item.key());
  return names;
}

// Our parameters under the library's names: [name] is a list of flat tensors, one per seed.
std::map<std::string, std::vector<at::Tensor>> draws_of(const nlohmann::json& row) {
  std::map<std::string, std::vector<at::Tensor>> draws;
  for (uint64_t seed = 1; seed <= row.at("seeds").get<uint64_t>(); ++seed) {
    const ModelPtr model = make(row, seed);
    NamedTensors ours;
    for (const auto& item : model->named_parameters()) ours.emplace_back(item.key(), item.value());
    const MappedKeys mapped = to_layout(ours, kLayouts.at(row.at("layout")));
    EXPECT_TRUE(mapped.dropped.empty());
    for (const auto& [name, value] : mapped.tensors) {
      if (row.at("parameters").contains(name)) draws[name].push_back(value.detach().flatten());
    }
    EXPECT_EQ(parameter_names(*model).size(), row.at("parameters").size());
  }
  return draws;
}

TEST(StartingWeights, EveryParameterOfEveryModelIsDrawnAsItsLibraryDoes) {
  const nlohmann::json fixture = testing::load_fixture("init.json");
  std::set<std::string> models;
  for (const auto& row : fixture.at("cases")) {
    const std::string label = row.at("name");
    SCOPED_TRACE(label);
    const ModelConfig config = config_of(row);
    if (config.init == Init::kReference) models.insert(config.name);
    const auto draws = draws_of(row);
    for (const auto& [name, expected] : row.at("parameters").items()) {
      ASSERT_TRUE(draws.contains(name)) << name;
      const Moments theirs{expected.at(0), expected.at(1), expected.at(2), expected.at(3), expected.at(4)};
      expect_same_distribution(moments_of(draws.at(name)), theirs, name);
    }
  }
  for (const std::string& name : model_names()) EXPECT_TRUE(models.contains(name)) << name << " is compared with no library";
}

ModelConfig small_fcn() {
  return load_experiment("", {"model.name=fcn", "model.fcn={dropout: 0, aux: {dropout: 0}}",
                              "model.backbone={name: resnet18, width: 8, stem_width: 8}"})
      .model;
}

TEST(StartingWeights, AreAFunctionOfSeedAndName) {
  ModelConfig config = small_fcn();
  const ModelPtr one = make_model(config, {3, 4}, 7), again = make_model(config, {3, 4}, 7),
                 other = make_model(config, {3, 4}, 8);
  config.fcn.aux.enabled = false;
  const ModelPtr smaller = make_model(config, {3, 4}, 7);
  for (const auto& item : one->named_parameters()) {
    EXPECT_TRUE(item.value().equal(again->named_parameters()[item.key()])) << item.key();
    if (item.value().dim() > 1) {
      EXPECT_FALSE(item.value().equal(other->named_parameters()[item.key()])) << item.key();
    }
    if (const at::Tensor* same = smaller->named_parameters().find(item.key())) {
      EXPECT_TRUE(item.value().equal(*same)) << item.key();
    }
  }
  EXPECT_LT(parameter_names(*smaller).size(), parameter_names(*one).size());
}

TEST(StartingWeights, ZeroGammaOfAModelWithoutResidualBlocksIsAUsageError) {
  ModelConfig config = load_experiment("", {"model.name=unet", "model.unet.channels=[4]", "model.zero_gamma=true"}).model;
  EXPECT_THROW(make_model(config, {3, 2}, 1), UsageError);
  config.zero_gamma.reset();
  EXPECT_NO_THROW(make_model(config, {3, 2}, 1));
}

// A block that starts as its shortcut still learns: its scales have a gradient from the first step on.
TEST(StartingWeights, ZeroGammasLetTheShortcutThroughAndHaveGradients) {
  ModelConfig config = small_fcn();
  config.zero_gamma = true;
  const ModelPtr model = make_model(config, {3, 4}, 7);
  model->forward(torch::rand({2, 3, 64, 64})).logits().square().sum().backward();
  const auto parameters = model->named_parameters();
  for (const char* block : {"backbone.layer1.0.", "backbone.layer4.1."}) {
    const at::Tensor& gamma = parameters[block + std::string("bn2.weight")];
    EXPECT_EQ(gamma.abs().sum().item<double>(), 0) << block;
    EXPECT_GT(gamma.grad().abs().sum().item<double>(), 0) << block;
    EXPECT_EQ(parameters[block + std::string("conv2.weight")].grad().abs().sum().item<double>(), 0) << block;
  }
  config.zero_gamma = false;
  EXPECT_EQ(make_model(config, {3, 4}, 7)->named_parameters()["backbone.layer1.0.bn2.weight"].min().item<double>(), 1);
}

}  // namespace
}  // namespace tessera
