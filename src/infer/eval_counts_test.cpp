#include "infer/eval_counts.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "core/error.h"

namespace tessera {
namespace {

const ClassTable kClasses{{"background", "cell", "dirt"}, {}};

at::Tensor map_of(const std::vector<int64_t>& classes, int64_t width) {
  return torch::tensor(classes).to(at::kShort).view({-1, width});
}

EvalConfig with(std::vector<ExtraMetric> metrics) {
  EvalConfig config;
  config.metrics = std::move(metrics);
  return config;
}

TEST(EvalCounts, OnlyWhatIsAskedForIsCounted) {
  EvalCounts counts(counting_of(EvalConfig{}, kClasses));
  counts.add(map_of({0, 1}, 2), map_of({0, 1}, 2));
  EXPECT_TRUE(counts.result().boundaries.empty());
  EXPECT_TRUE(counts.result().objects.empty());
  EXPECT_EQ(counts.result().report.pixel_accuracy, 1);
}

TEST(EvalCounts, BackgroundHasNoObjectsUnlessNamed) {
  EvalConfig config = with({ExtraMetric::kObjects});
  EXPECT_EQ(counting_of(config, kClasses).object_classes, (std::vector<bool>{false, true, true}));
  config.objects.classes = {"dirt", "background"};
  EXPECT_EQ(counting_of(config, kClasses).object_classes, (std::vector<bool>{true, false, true}));
}

TEST(EvalCounts, UnknownClassOfObjectsIsRefused) {
  EvalConfig config = with({ExtraMetric::kObjects});
  config.objects.classes = {"cel"};
  try {
    counting_of(config, kClasses);
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_STREQ(e.what(), "eval.objects.classes has 'cel', did you mean 'cell'?; the classes are background, cell, dirt");
  }
}

// Two images one by one, or their counts added up in the other order.
TEST(EvalCounts, ImagesAddUp) {
  const Counting counting = counting_of(with({ExtraMetric::kBoundary, ExtraMetric::kObjects}), kClasses);
  const at::Tensor truth = map_of({1, 1, 0, 0, 0, 2}, 3), found = map_of({1, 1, 0, 1, 0, 0}, 3);
  EvalCounts both(counting), first(counting), second(counting);
  both.add(truth, found);
  both.add(found, found);
  first.add(truth, found);
  second.add(found, found);
  second.add(first);
  const EvalResult one = both.result(), other = second.result();
  EXPECT_EQ(one.confusion, other.confusion);
  EXPECT_EQ(one.boundaries, other.boundaries);
  EXPECT_EQ(one.objects, other.objects);
  // Cells: 2 pixels found as 3, then 3 as 3; the dirt is missed.
  EXPECT_EQ(one.objects[1].found, (ClassCounts{.tp = 2}));
  EXPECT_NEAR(one.objects[1].segmentation_quality(), (2.0 / 3 + 1) / 2, 1e-9);
  EXPECT_EQ(one.objects[2].found, (ClassCounts{.fn = 1}));
  EXPECT_EQ(one.objects[0], ObjectCounts{});
}

// Everything of a class is what it would be if the class were the second of two.
TEST(EvalCounts, ClassesThatOverlapAreCountedOneByOne) {
  const ClassTable overlapping{{"cell", "nucleus"}, {}, true}, two{{"background", "thing"}, {}};
  const EvalConfig config = with({ExtraMetric::kBoundary, ExtraMetric::kObjects});
  const at::Tensor labels = map_of({1, 3, 3, 0, 1, 1, 0, -1, 0, 2, 2, 0}, 4),
                   found = map_of({1, 3, 1, 0, 1, 0, 0, 3, 0, 2, 2, 3}, 4);
  EvalCounts counts(counting_of(config, overlapping)), sum(counting_of(config, overlapping));
  counts.add(labels, found);
  for (int i = 0; i < 2; ++i) sum.add(counts);
  const EvalResult result = counts.result();
  EXPECT_TRUE(result.confusion.empty());
  for (int64_t c = 0; c < 2; ++c) {
    const auto plane = [&](const at::Tensor& map) {
      return map.bitwise_right_shift(c).bitwise_and(1).masked_fill(map.lt(0), -1).to(at::kShort);
    };
    EvalCounts alone(counting_of(config, two));
    alone.add(plane(labels), plane(found));
    const auto at = static_cast<size_t>(c);
    EXPECT_EQ(result.overlapping[at], class_counts(alone.result().confusion, 2)[1]);
    EXPECT_EQ(result.boundaries[at], alone.result().boundaries[1]);
    EXPECT_EQ(result.objects[at], alone.result().objects[1]);
    EXPECT_EQ(sum.result().overlapping[at].tp, 2 * result.overlapping[at].tp);
  }
}

}  // namespace
}  // namespace tessera
