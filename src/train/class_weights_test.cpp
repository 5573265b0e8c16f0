#include "train/class_weights.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "data/check/class_frequencies.h"
#include "dist/thread_ranks.h"
#include "support/fixed_dataset.h"
#include "support/fixtures.h"
#include "support/messages.h"
#include "support/tiny_experiment.h"
#include "train/balanced_sampling.h"
#include "train/run.h"

namespace tessera {
namespace {

using testing::FixedDataset;
using testing::message_of;
using testing::row_sample;
using testing::TempFolder;

using Numbers = std::vector<double>;

// Three pixels of background, two of a, none of b.
std::shared_ptr<FixedDataset> two_images() {
  return std::make_shared<FixedDataset>(
      std::vector<Sample>{row_sample("x", {0, 255, 255, 0}, {0, 1, 1, -1}), row_sample("z", {255, 0}, {0, 0})});
}

// A data set that no one may look into.
struct Untouched : FixedDataset {
  Untouched() : FixedDataset({row_sample("x", {0}, {0})}) {}
  Sample get(int64_t) const override { fail("a sample was read"); }
};

Numbers weights_in(const LossTermConfig& term) {
  return std::visit(
      [](const auto& options) -> Numbers {
        if constexpr (requires { options.class_weights; }) return options.class_weights.values();
        return {};
      },
      term);
}

TEST(ClassWeightsOfARun, AreFoundForEveryTermThatAsks) {
  const TempFolder folder;
  Experiment e = load_experiment("", {"loss.terms=[{ce: {class_weights: auto}}, dice, {focal: {class_weights: [1, 2, 3]}}, "
                                      "{ohem: {class_weights: inverse}}]"});
  World alone;
  const auto data = two_images();
  LabelCounts labels;
  find_class_weights(e, *data, labels, folder.path(), false, alone);
  const ClassFrequencies counts = frequencies_of(count_sample_classes(*data, 1), 3);
  EXPECT_EQ(weights_in(e.loss.terms[0]), weights_by(MedianFrequency{}, counts));
  EXPECT_EQ(weights_in(e.loss.terms[2]), (Numbers{1, 2, 3}));
  EXPECT_EQ(weights_in(e.loss.terms[3]), (Numbers{5.0 / (2 * 3), 5.0 / (2 * 2), 1}));
  // What was found is written and read back, and nothing is counted again.
  Experiment again = read_experiment(parse_config(experiment_yaml(e), "written"));
  EXPECT_EQ(again.loss.terms, e.loss.terms);
  LabelCounts none;
  find_class_weights(again, Untouched(), none, folder.path(), false, alone);
  EXPECT_EQ(again.loss.terms, e.loss.terms);
}

TEST(ClassWeightsOfARun, RunsThatShareTheDataCountItOnce) {
  const TempFolder folder;
  World alone;
  LabelCounts labels;
  const auto weights = [&](const Dataset& data) {
    Experiment e = load_experiment("", {"loss.class_weights=auto"});
    find_class_weights(e, data, labels, folder.path(), false, alone);
    return weights_in(e.loss.terms[0]);
  };
  const Numbers counted = weights(*two_images());
  EXPECT_EQ(counted.size(), 3U);
  EXPECT_EQ(weights(Untouched()), counted);
  DataConfig balanced;
  balanced.sampler = SamplerKind::kBalanced;
  LabelCounts others;
  EXPECT_EQ(chances_of_run(balanced, Untouched(), labels, alone), chances_of_run(balanced, *two_images(), others, alone));
}

TEST(ClassWeightsOfARun, TheFirstRankCountsForAll) {
  const TempFolder folder;
  std::vector<Numbers> found(2);
  run_on_threads(2, false, std::chrono::seconds(60), [&](World& world) {
    Experiment e = load_experiment("", {"loss.class_weights=auto"});
    LabelCounts labels;
    if (world.is_first()) {
      find_class_weights(e, *two_images(), labels, folder.path(), false, world);
    } else {
      find_class_weights(e, Untouched(), labels, folder.path(), false, world);
    }
    found[static_cast<size_t>(world.rank())] = weights_in(e.loss.terms[0]);
  });
  EXPECT_EQ(found[0].size(), 3U);
  EXPECT_EQ(found[0], found[1]);
}

TEST(ClassWeightsOfARun, AResumedRunKeepsThemAndAnotherMethodIsAnotherRun) {
  const TempFolder folder;
  World alone;
  const auto run = [&](const char* weights, bool resume) {
    Experiment e = testing::tiny_experiment({"train.duration=2ba", "run.dir=" + folder.path().string(), "run.tensorboard=false",
                                             "train.device=cpu", std::string("loss.class_weights=") + weights});
    run_training(e, {.resume = resume, .report = false}, alone);
    return load_experiment(folder / "config.yaml").loss.terms;
  };
  const auto first = run("effective_number", false);
  EXPECT_EQ(weights_in(first[0]).size(), 4U);
  EXPECT_EQ(run("effective_number", true), first);
  EXPECT_NE(message_of<UsageError>([&] { run("inverse", true); }).find("this would not resume the run but change it"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera
