#include "data/datasets/pair_dataset.h"

#include <utility>

#include "data/datasets/class_masks.h"
#include "data/datasets/file_version.h"
#include "data/datasets/labelme.h"
#include "data/datasets/load_sample.h"
#include "data/datasets/object_masks.h"

namespace tessera {

PairDataset::PairDataset(const std::vector<FilePair>& pairs, ClassTable classes, LabelConfig rules, DecodeOptions options,
                         DataOrigin origin)
    : EncodedDataset(std::move(classes), std::move(rules), std::move(options), std::move(origin)), pairs_(pairs) {}

Sample PairDataset::get(int64_t index) const {
  const FilePair pair = pairs_[static_cast<size_t>(index)];
  if (origin_.labelled && !rules_.multi && is_annotation(pair.mask)) return get_drawn(pair);
  if (!rules_.multi || !origin_.labelled) return EncodedDataset::get(index);
  // Of classes that overlap, a sample has several mask files.
  Sample sample = load_image_sample(pair.stem, pair.image, options_);
  LabelMap labels = load_class_masks(sample, pair, rules_, classes_.names, options_);
  attach_labels(sample, std::move(labels), pair.image, pair.mask);
  return sample;
}

// Shapes become a mask of the image's size: Note [labelme].
Sample PairDataset::get_drawn(const FilePair& pair) const {
  Sample sample = load_image_sample(pair.stem, pair.image, options_);
  const Blob json = read_sample_file(pair.stem, pair.mask);
  try {
    sample.labels = labelme_labels(json.bytes, sample.image.size(), classes_.names, rules_);
  } catch (const Error& error) {
    throw BadSample(pair.stem, fmt::format("{}: {}", pair.mask, error.what()));
  }
  return sample;
}

std::optional<EncodedSample> PairDataset::encoded(int64_t index) const {
  const FilePair pair = pairs_[static_cast<size_t>(index)];
  if (origin_.labelled && (rules_.multi || is_annotation(pair.mask))) return std::nullopt;
  if (pair.mask.empty() && origin_.labelled) throw BadSample(pair.stem, "no mask for the image " + pair.image);
  EncodedSample sample{pair.stem, read_sample_file(pair.stem, pair.image), pair.image, {}, pair.mask};
  if (origin_.labelled) sample.labels = read_sample_file(pair.stem, pair.mask);
  return sample;
}

std::string PairDataset::stored_version(int64_t index) const {
  const FilePair pair = pairs_[static_cast<size_t>(index)];
  std::string all = file_version(pair.image);
  bool known = !all.empty();
  const auto add = [&](const std::string& mask) {
    const std::string version = mask.empty() ? "-\n" : file_version(mask);
    known = known && !version.empty();
    all += version;
  };
  add(pair.mask);
  for (const std::string& mask : pair.class_masks) add(mask);
  return known ? all : "";
}

void PairDataset::check_labels() const {
  if (rules_.multi) return;  // whatever is not 0 is on
  refuse_unmarked_objects(pairs_, rules_, classes_.names, options_.max_pixels);
}

}  // namespace tessera
