#include "data/datasets/synthetic.h"

#include "core/error.h"
#include "core/rng.h"
#include "data/datasets/cells.h"
#include "data/datasets/class_table.h"
#include "data/datasets/shapes.h"
#include "data/sample.h"

namespace tessera {
namespace {

constexpr int64_t kTrainImages = 160;
constexpr int64_t kOtherImages = 40;

std::vector<std::string> names_of(const SyntheticConfig& config) {
  if (config.kind == SyntheticKind::kCells) return {"background", "nucleus"};
  TSR_CHECK_USAGE(config.num_classes >= 2, "data.synthetic.num_classes is {}, expected at least 2", config.num_classes);
  return shape_names(static_cast<int>(config.num_classes));
}

}  // namespace

SyntheticDataset::SyntheticDataset(const DataConfig& config, Split split)
    : config_(config.synthetic),
      split_(split),
      channels_(static_cast<int>(config.channels)),
      count_(split_of(config, split).count),
      classes_(make_class_table(config, names_of(config.synthetic))) {
  TSR_CHECK_USAGE(channels_ == 1 || channels_ == 3, "data.channels is {}; synthetic images have 1 or 3", channels_);
  TSR_CHECK_USAGE(split_of(config, split).list.empty(), "data.{}.list has no meaning for synthetic data; set data.{}.count",
                  name_of(split), name_of(split));
  if (count_ == 0) count_ = split == Split::kTrain ? kTrainImages : kOtherImages;
}

std::string SyntheticDataset::id(int64_t index) const {
  TSR_CHECK(index >= 0 && index < count_, "sample {} of {} was asked for", index, count_);
  return fmt::format("{}-{}-{:05}", name_of(config_.kind), name_of(split_), index);
}

Sample SyntheticDataset::get(int64_t index) const {
  Sample sample;
  sample.id = id(index);
  const Rng rng(config_.seed, Stream::kSynthetic, static_cast<uint64_t>(split_), static_cast<uint64_t>(index));
  if (config_.kind == SyntheticKind::kCells) {
    paint_cells(sample, config_.size, channels_, rng);
  } else {
    paint_shapes(sample, config_.size, channels_, static_cast<int>(config_.num_classes), rng);
  }
  sample.placement = whole_image(sample.image.size());
  return sample;
}

}  // namespace tessera
