#include "apps/compare_pictures.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "data/batch/image_tensor.h"
#include "data/datasets/dataset_factory.h"
#include "data/decode/png_writer.h"
#include "infer/checkpoint/checkpoint_store.h"
#include "infer/eval_samples.h"
#include "infer/pictures.h"
#include "infer/trained_model.h"
#include "report/number_text.h"

namespace tessera {
namespace {

// One model with the images as it sees them.
class Model {
 public:
  Model(const std::filesystem::path& run, bool last)
      : trained_(load_trained(last ? load_newest(run).first : run, {})),
        samples_(trained_.experiment, make_dataset(trained_.experiment.data, Split::kVal), Split::kVal),
        predictor_(trained_.predictor()) {}

  LabelMap classes_of(int64_t index) const {
    const EvalSample loaded = samples_.load(index);
    const auto placement = samples_.at_original() ? std::optional(loaded.sample.placement) : std::nullopt;
    return to_label_map(
        predictor_.class_maps({image_tensor(loaded.sample.image), loaded.sample.image.max_value, {placement}})[0]);
  }

  LabelMap truth_of(int64_t index) const { return samples_.load(index).truth.labels; }
  Image image_of(int64_t index) const {
    return samples_.at_original() ? samples_.original(index).image : samples_.load(index).sample.image;
  }
  const ClassTable& classes() const { return trained_.classes; }

  void check_id(int64_t index, const std::string& id) const {
    TSR_CHECK(index >= 0 && index < samples_.size() && id.starts_with(samples_.original(index).id),
              "the data of the runs has changed: image {} is no longer {}", index, id);
  }

 private:
  TrainedModel trained_;
  EvalSamples samples_;
  Predictor predictor_;
};

std::string caption_of(const ComparedImage& image) {
  std::string text = image.id + ": IoU";
  for (const double iou : image.mean_iou) text += " " + percent_text(iou, 1);
  return text + " %";
}

}  // namespace

std::vector<ReportPicture> draw_differing_images(const ModelComparison& comparison,
                                                 const std::vector<std::filesystem::path>& runs, bool last, int count) {
  constexpr int kMaxSide = 320;
  if (count == 0 || std::any_of(runs.begin(), runs.end(), [](const auto& run) { return run.empty(); })) return {};
  std::vector<Model> models;
  models.reserve(runs.size());
  for (const auto& run : runs) models.emplace_back(run, last);
  std::vector<ReportPicture> pictures;
  for (const ComparedImage& image : comparison.images) {
    if (std::ssize(pictures) == count || image.spread() == 0) break;
    std::vector<LabelMap> predictions;
    for (size_t i = 0; i < models.size(); ++i) {
      models[i].check_id(image.index[i], image.id);
      predictions.push_back(models[i].classes_of(image.index[i]));
    }
    const Model& first = models.front();
    // Models may be measured at other sizes than the first; each prediction is drawn at the size of the picture.
    const Image row =
        draw_row(first.image_of(image.index[0]), first.truth_of(image.index[0]), predictions, first.classes(), kMaxSide);
    pictures.push_back({.caption = caption_of(image), .png = encode_png(row)});
  }
  return pictures;
}

}  // namespace tessera
