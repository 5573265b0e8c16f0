// A run on classes that overlap, from mask files to the model that a later command loads.
#include <gtest/gtest.h>

#include <cmath>

#include "core/class_bits.h"
#include "data/batch/image_tensor.h"
#include "dist/thread_ranks.h"
#include "infer/rank_consensus.h"
#include "infer/trained_model.h"
#include "support/fixtures.h"
#include "support/image_files.h"
#include "support/tiny_experiment.h"
#include "train/run.h"

namespace tessera {
namespace {

using testing::TempFolder;

constexpr int kSide = 32;

// A grey cell with a white nucleus somewhere within it, on dark ground; a file for each class.
void write_cell(const TempFolder& folder, int number) {
  Rng rng(11, Stream::kSelect, static_cast<uint64_t>(number));
  const double cy = 10 + 12 * rng.uniform(), cx = 10 + 12 * rng.uniform();
  Image image(kSide, kSide, 3);
  LabelMap cell(kSide, kSide), nucleus(kSide, kSide);
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      cell.at(y, x) = std::hypot(y - cy, x - cx) < 9 ? 255 : 0;
      nucleus.at(y, x) = std::hypot(y - cy - 2, x - cx + 2) < 4 ? 255 : 0;
      const double value = (nucleus.at(y, x) > 0 ? 210 : cell.at(y, x) > 0 ? 110 : 20) + 30 * rng.uniform();
      for (size_t c = 0; c < 3; ++c) image.bytes()[static_cast<size_t>(y * kSide + x) * 3 + c] = static_cast<uint8_t>(value);
    }
  }
  const std::string name = "c" + std::to_string(number) + ".png";
  testing::write_bytes(folder / ("data/images/" + name), encode_png(image));
  testing::write_bytes(folder / ("data/masks/cell/" + name), encode_png_labels(cell));
  testing::write_bytes(folder / ("data/masks/nucleus/" + name), encode_png_labels(nucleus));
}

TEST(MultiLabelRun, LearnsANucleusWithinACellAndIsLoadedAsSuch) {
  const TempFolder folder;
  for (int i = 0; i < 20; ++i) write_cell(folder, i);
  const Experiment e = testing::tiny_experiment(
      {"data.type=pairs", "data.path=" + (folder / "data").string(), "data.classes=[cell,nucleus]", "data.labels.multi=true",
       "data.train.count=0", "data.val.count=0", "data.train.transforms=[flip]", "optimizer.type=adamw", "optimizer.lr=0.02",
       "train.duration=40ba", "eval.every=40ba", "checkpoint.every=40ba", "run.tensorboard=false", "train.device=cpu",
       "run.dir=" + (folder / "run").string(), "checkpoint.best_metric=iou/nucleus"});
  EXPECT_EQ(e.loss.terms, (std::vector<LossTermConfig>{BinaryCrossEntropyConfig{}, DiceConfig{}}));
  World alone;
  const RunResult result = run_training(e, {}, alone);
  ASSERT_TRUE(result.last_eval.has_value());
  const IouReport& report = result.last_eval->report;
  EXPECT_GT(report.classes[0].iou, 0.9);
  EXPECT_GT(report.classes[1].iou, 0.85);
  EXPECT_GT(report.pixel_accuracy, 0.95);

  const TrainedModel trained = load_trained(folder / "run", {});
  EXPECT_TRUE(trained.classes.multi_label);
  const DatasetPtr val = make_dataset(e.data, Split::kVal);
  const Sample sample = val->get(0);
  const at::Tensor map = trained.predictor().class_maps({image_tensor(sample.image), 255, {std::nullopt}})[0];
  const int64_t both = map.eq(3).sum().item<int64_t>(), nucleus_alone = map.eq(2).sum().item<int64_t>();
  EXPECT_GT(both, 30);
  EXPECT_LT(nucleus_alone, both / 4);

  // The same counts from two ranks.
  run_on_threads(2, false, std::chrono::seconds(60), [&](World& world) {
    Evaluator evaluator(trained.experiment, val, world);
    const EvalResult all = merged(world, evaluator.run(trained.predictor()), 2);
    EXPECT_EQ(all.overlapping, result.last_eval->overlapping);
    EXPECT_EQ(all.num_images, val->size());
  });
}

}  // namespace
}  // namespace tessera
