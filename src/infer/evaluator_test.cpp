#include "infer/evaluator.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "metric/confusion_matrix.h"
#include "support/fixtures.h"
#include "support/tiny_experiment.h"

namespace tessera {
namespace {

using testing::tiny_experiment;

EvalResult evaluate(const Experiment& e) {
  const DatasetPtr data = make_dataset(e.data, Split::kVal);
  const ModelPtr model = make_model(e.model, {3, data->classes().size()}, 1);
  World alone;
  return Evaluator(e, data, alone).run(Predictor(e, model, at::kCPU));
}

TEST(Evaluator, EverySampleOnceForAnyBatchAndThreads) {
  const EvalResult one = evaluate(tiny_experiment({"eval.batch_size=1", "data.threads=1"}));
  EXPECT_EQ(one.num_images, 6);
  int64_t pixels = 0;
  for (const int64_t count : one.confusion) pixels += count;
  EXPECT_EQ(pixels, 6 * 32 * 32);
  for (const char* batch : {"eval.batch_size=4", "eval.batch_size=100"}) {
    const EvalResult many = evaluate(tiny_experiment({batch, "data.threads=3"}));
    EXPECT_EQ(many.num_images, 6);
    EXPECT_EQ(many.confusion, one.confusion) << batch;
  }
}

TEST(Evaluator, OriginalAndProcessedSizesAreBothMeasurable) {
  const std::vector<std::string> half{"data.val.transforms=[{resize: {mode: exact, size: 16}}]"};
  auto processed = half;
  processed.emplace_back("eval.at=processed");
  int64_t original_pixels = 0, processed_pixels = 0;
  for (const int64_t count : evaluate(tiny_experiment(half)).confusion) original_pixels += count;
  for (const int64_t count : evaluate(tiny_experiment(processed)).confusion) processed_pixels += count;
  EXPECT_EQ(original_pixels, 6 * 32 * 32);
  EXPECT_EQ(processed_pixels, 6 * 16 * 16);
}

// The known answer: annotations taken as predictions. 15 of the 150 classes occur in the sample.
TEST(Evaluator, GoldenMetricOfTheAde20kSample) {
  TSR_NEED_DATA(path, "ade20k_sample");
  const Experiment e = load_experiment("", {"data.type=ade20k", "data.path=" + path.string()});
  const DatasetPtr data = make_dataset(e.data, Split::kVal);
  ASSERT_EQ(data->classes().size(), 150);
  ConfusionMatrix matrix(150);
  for (int64_t i = 0; i < data->size(); ++i) {
    const Sample sample = data->get(i);
    const at::Tensor labels = torch::from_blob(const_cast<int16_t*>(sample.labels->labels.data()),
                                               {1, sample.labels->height, sample.labels->width}, torch::kInt16);
    matrix.add(labels, labels.clamp_min(0));  // where nothing is labelled the prediction does not count
  }
  const IouReport report = matrix.report();
  EXPECT_DOUBLE_EQ(report.pixel_accuracy, 1.0);
  EXPECT_DOUBLE_EQ(report.mean_iou_all, 15.0 / 150.0);
  EXPECT_DOUBLE_EQ(report.mean_iou_present, 1.0);
}

}  // namespace
}  // namespace tessera
