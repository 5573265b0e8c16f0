#include "infer/shared_images.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include "dist/thread_ranks.h"
#include "infer/evaluator.h"
#include "infer/rank_consensus.h"
#include "support/tiny_experiment.h"

namespace tessera {
namespace {

using testing::tiny_experiment;

// Three classes at a quarter of the resolution whose scores also depend on where in its window a pixel lies: a window that is
// missing, double or in the wrong place changes them.
class RampModel : public SegmentationModel {
 public:
  std::vector<std::string> head_prefixes() const override { return {}; }

 protected:
  std::vector<Segment> make_segments() override {
    return {
        {.name = "all", .compute = [](const Tensors& in) -> Tensors {
           const at::Tensor small = at::avg_pool2d(in[0], 4);
           const at::Tensor down = at::linspace(-1, 1, small.size(2)).view({-1, 1}), along = at::linspace(-1, 1, small.size(3));
           return {small + at::stack({down.expand_as(small[0][0]), along.expand_as(small[0][0]), down * along})};
         }}};
  }
};

ImageGroup noise_group(int64_t images, int64_t height, int64_t width) {
  torch::manual_seed(5);
  return {torch::randint(0, 256, {images, height, width, 3}, torch::kUInt8), 255,
          std::vector<std::optional<Placement>>(static_cast<size_t>(images))};
}

struct Outcome {
  std::vector<at::Tensor> maps;
  at::Tensor scores;
};

Outcome outcome(const Predictor& predictor, const ImageGroup& group, const WindowTeam& team = {}) {
  at::set_num_threads(1);  // convolutions round otherwise with more, and ranks have fewer than one has alone
  return {predictor.class_maps(group, team), predictor.scores(group, team).values};
}

void expect_same_bits(const Outcome& one, const Outcome& many, const std::string& what) {
  ASSERT_EQ(one.maps.size(), many.maps.size()) << what;
  for (size_t i = 0; i < one.maps.size(); ++i) EXPECT_TRUE(one.maps[i].equal(many.maps[i])) << what << ", image " << i;
  EXPECT_TRUE(one.scores.equal(many.scores)) << what;
}

struct Case {
  std::string name;
  Experiment experiment;
  std::function<ModelPtr(const Experiment&)> model;
  ImageGroup group;
};

// On teams of 2, 3 and 5 ranks, led by each of the first two.
void expect_teams_agree(const std::vector<Case>& cases) {
  const auto predictor_of = [](const Case& c) { return Predictor(c.experiment, c.model(c.experiment), at::kCPU); };
  std::vector<Outcome> alone;
  for (const Case& c : cases) alone.push_back(outcome(predictor_of(c), c.group));
  for (const int ranks : {2, 3, 5}) {
    run_on_threads(ranks, false, std::chrono::seconds(300), [&](World& world) {
      for (size_t k = 0; k < cases.size(); ++k) {
        const Predictor predictor = predictor_of(cases[k]);
        const int64_t own = world.rank() < 2 ? 1 : 0;
        int64_t led = 0;
        SharedImages shared(world.control, own);
        if (own > 0) shared.add(cases[k].group);
        while (const auto turn = shared.next()) {
          const Outcome found = outcome(predictor, turn->images, turn->team);
          led += turn->team.leads();
          if (turn->team.leads()) {
            expect_same_bits(alone[k], found, fmt::format("{}, {} ranks", cases[k].name, ranks));
          } else {
            EXPECT_TRUE(found.maps.empty() && !found.scores.defined());
          }
        }
        EXPECT_EQ(led, own);
      }
    });
  }
}

TEST(SharedImages, SameBitsAsOneRank) {
  const std::vector<std::string> base{"model.unet.channels=[2,4]", "eval.window.size=16", "eval.window.batch=5"};
  const auto unet = [](int channels) { return [=](const Experiment& e) { return make_model(e.model, {3, channels}, 1); }; };
  const auto ramp = [](const Experiment&) { return std::make_shared<RampModel>(); };
  std::vector<Case> cases;
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{},
                                             {"eval.window.stride=[5,16]", "eval.window.weights=flat"},
                                             {"eval.window.size=[16,100]"},
                                             {"eval.flip=true", "eval.scales=[0.3,1,1.5]"},
                                             {"data.normalize.mode=per_image"}}) {
    std::vector<std::string> overrides = base;
    overrides.insert(overrides.end(), more.begin(), more.end());
    const Experiment e = tiny_experiment(overrides);
    const std::string what = more.empty() ? "plain" : more[0];
    cases.push_back({"U-Net, " + what, e, unet(4), noise_group(1, 75, 40)});
    cases.push_back({"two classes, " + what, e, unet(1), noise_group(2, 44, 37)});
    cases.push_back({"low resolution, " + what, e, ramp, noise_group(3, 53, 60)});
  }
  // Padding, mirrored input, and an original of another size, for which scores are collected instead of classes.
  for (const Placement& placement : {Placement{{50, 30}, 4, 5, 50, 30, /*flipped=*/true}, Placement{{90, 60}, 0, 0, 60, 40}}) {
    ImageGroup group = noise_group(1, 60, 40);
    group.placements = {placement};
    cases.push_back({fmt::format("original {}", placement.original.height), tiny_experiment(base), unet(4), group});
  }
  expect_teams_agree(cases);
}

TEST(SharedImages, OnlyImagesWithWindowsForSeveralRanks) {
  const Predictor plain(tiny_experiment({"eval.window.size=16"}), std::make_shared<RampModel>(), at::kCPU);
  EXPECT_TRUE(plain.splits_over(2, 60, 20));
  EXPECT_FALSE(plain.splits_over(1, 60, 20));
  EXPECT_FALSE(plain.splits_over(2, 16, 500));  // one row of windows
  EXPECT_FALSE(plain.splits_over(2, 20, 500));  // the second row of windows needs the first
  const Predictor larger(tiny_experiment({"eval.window.size=16", "eval.scales=[1,4]"}), std::make_shared<RampModel>(),
                         at::kCPU);
  EXPECT_TRUE(larger.splits_over(2, 16, 16));
  EXPECT_FALSE(Predictor(tiny_experiment(), std::make_shared<RampModel>(), at::kCPU).splits_over(2, 900, 900));
}

TEST(SharedImages, ImagesOfAShortRoundAreForAll) {
  EXPECT_TRUE(in_short_round(0, 1, 2));
  EXPECT_FALSE(in_short_round(1, 2, 2));
  EXPECT_FALSE(in_short_round(5, 8, 3));
  EXPECT_TRUE(in_short_round(6, 8, 3));
  EXPECT_FALSE(in_short_round(0, 1, 1));
}

// A data set of one block: all ranks work on it, and the rank that was dealt it has the counts.
TEST(SharedImages, EvaluationIsThatOfOneRank) {
  const Experiment e =
      tiny_experiment({"eval.window.size=10", "eval.window.batch=3", "eval.batch_size=4", "eval.metrics=[boundary,objects]"});
  const DatasetPtr data = make_dataset(e.data, Split::kVal);
  const ModelPtr model = make_model(e.model, {3, data->classes().size()}, 1);
  const auto run = [&](World& world) { return Evaluator(e, data, world).run(Predictor(e, model, at::kCPU)); };
  World alone;
  const EvalResult one = run(alone);
  ASSERT_EQ(one.num_images, 6);
  int64_t boundary = 0, objects = 0;
  for (const ClassCounts& counts : one.boundaries) boundary += counts.labelled();
  for (const ObjectCounts& counts : one.objects) objects += counts.found.labelled();
  ASSERT_GT(boundary, 0);
  ASSERT_GT(objects, 0);
  run_on_threads(3, false, std::chrono::seconds(120), [&](World& world) {  // blocks of 4 and 2 images, a third rank without one
    const EvalResult part = run(world);
    EXPECT_EQ(part.num_images, std::vector<int64_t>({4, 2, 0})[static_cast<size_t>(world.rank())]);
    const EvalResult all = merged(world, part, data->classes().size());
    EXPECT_EQ(all.confusion, one.confusion);
    EXPECT_EQ(all.boundaries, one.boundaries);
    EXPECT_EQ(all.objects, one.objects);
    ASSERT_EQ(all.images.size(), one.images.size());
    for (size_t i = 0; i < one.images.size(); ++i) {
      EXPECT_EQ(all.images[i].index, one.images[i].index);
      EXPECT_EQ(all.images[i].mean_iou, one.images[i].mean_iou);
    }
  });
}

}  // namespace
}  // namespace tessera
