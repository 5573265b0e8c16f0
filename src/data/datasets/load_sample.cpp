#include "data/datasets/load_sample.h"

#include "data/decode/label_rules.h"
#include "data/decode/mask.h"
#include "data/placement.h"

namespace tessera {

void throw_bad_sample(const std::string& id, const fs::path& path, const Error& error) {
  const std::string what = error.what();
  const bool named = what.find(path.string()) != std::string::npos;
  throw BadSample(id, named ? what : path.string() + ": " + what);
}

DecodeOptions decode_options(const DataConfig& config) {
  DecodeOptions options;
  options.channels = static_cast<int>(config.channels);
  options.exif_orientation = config.exif_orientation;
  return options;
}

Sample load_image_sample(const std::string& id, const fs::path& path, const DecodeOptions& options) {
  Sample sample;
  sample.id = id;
  try {
    sample.image = decode_image(read_bytes(path), options);
  } catch (const Error& error) {
    throw_bad_sample(id, path, error);
  }
  sample.placement = whole_image(sample.image.size());
  return sample;
}

LabelMap load_labels(const std::string& id, const fs::path& path, const LabelConfig& rules, int num_classes,
                     bool exif_orientation) {
  try {
    return apply_label_rules(decode_mask(read_bytes(path), exif_orientation), rules, num_classes);
  } catch (const Error& error) {
    throw_bad_sample(id, path, error);
  }
}

void attach_labels(Sample& sample, LabelMap labels, const fs::path& image_path, const std::string& labels_from) {
  const Size image = sample.image.size(), mask = labels.size();
  if (image != mask) {
    // Annotation tools that ignore the EXIF tag draw masks on the unturned photo: the one mismatch with a known cure.
    const bool turned = image == Size{mask.width, mask.height};
    throw BadSample(sample.id,
                    fmt::format("mask {} is {} x {}, image {} is {} x {} (height x width); they must be of one size{}",
                                labels_from, mask.height, mask.width, image_path.string(), image.height, image.width,
                                turned ? "; if the photo is turned by its EXIF tag, set data.exif_orientation=false" : ""));
  }
  sample.labels = std::move(labels);
}

}  // namespace tessera
