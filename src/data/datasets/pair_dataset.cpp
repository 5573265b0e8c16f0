#include "data/datasets/pair_dataset.h"

#include <utility>

#include "data/datasets/class_masks.h"
#include "data/datasets/load_sample.h"
#include "data/datasets/object_masks.h"

namespace tessera {

PairDataset::PairDataset(std::vector<FilePair> pairs, ClassTable classes, LabelConfig rules, DecodeOptions options,
                         DataOrigin origin)
    : pairs_(std::move(pairs)),
      classes_(std::move(classes)),
      rules_(std::move(rules)),
      options_(std::move(options)),
      origin_(std::move(origin)) {}

Sample PairDataset::get(int64_t index) const {
  const FilePair& pair = pairs_.at(static_cast<size_t>(index));
  if (!origin_.labelled) return load_image_sample(pair.stem, pair.image, options_);
  if (pair.mask.empty() && !rules_.multi) throw BadSample(pair.stem, "no mask for the image " + pair.image.string());
  Sample sample = load_image_sample(pair.stem, pair.image, options_);
  if (rules_.multi) {
    LabelMap labels = load_class_masks(sample, pair, rules_, classes_.names, options_);
    attach_labels(sample, std::move(labels), pair.image.string(), pair.mask.string());
    return sample;
  }
  LabelMap labels = load_labels(pair.stem, pair.mask, rules_, classes_.size(), options_);
  attach_labels(sample, std::move(labels), pair.image.string(), pair.mask.string());
  return sample;
}

void PairDataset::check_labels() const {
  if (rules_.multi) return;  // whatever is not 0 is on
  refuse_unmarked_objects(pairs_, rules_, classes_.names, options_.max_pixels);
}

}  // namespace tessera
