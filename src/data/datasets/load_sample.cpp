#include "data/datasets/load_sample.h"

#include "data/decode/class_channels.h"
#include "data/decode/label_rules.h"
#include "data/decode/mask.h"
#include "storage/file_tree.h"

namespace tessera {

namespace {

// Images are decoded to 4 GiB at most, and no format makes them larger than that by much; a sparse file of any size is made in
// no time.
constexpr uint64_t kMostFileBytes = uint64_t{5} << 30;

// `error` as a BadSample whose reason names `name` (once).
[[noreturn]] void throw_bad_sample(const std::string& id, const std::string& name, const Error& error) {
  const std::string what = error.what(), shown = printable(name);
  const bool named = what.find(shown) != std::string::npos;
  throw BadSample(id, named ? what : shown + ": " + what);
}

}  // namespace

Blob read_sample_file(const std::string& id, const fs::path& path) {
  try {
    return read_file(path, kMostFileBytes);
  } catch (const Error& error) {
    throw_bad_sample(id, path.string(), error);
  }
}

DecodeOptions decode_options(const DataConfig& config) {
  DecodeOptions options;
  options.channels = static_cast<int>(config.channels);
  options.exif_orientation = config.exif_orientation;
  options.max_pixels = static_cast<uint64_t>(config.max_pixels);
  options.stack = stack_choice(config.image);
  return options;
}

Sample load_image_sample(const std::string& id, std::span<const uint8_t> bytes, const std::string& name,
                         const DecodeOptions& options) {
  Sample sample;
  sample.id = id;
  try {
    sample.image = decode_image(bytes, options);
  } catch (const Error& error) {
    throw_bad_sample(id, name, error);
  }
  sample.placement = whole_image(sample.image.size());
  return sample;
}

Sample load_image_sample(const std::string& id, const fs::path& path, const DecodeOptions& options) {
  return load_image_sample(id, read_sample_file(id, path).bytes, path.string(), options);
}

LabelMap load_labels(const std::string& id, std::span<const uint8_t> bytes, const std::string& name, const LabelConfig& rules,
                     int num_classes, const DecodeOptions& options) {
  try {
    return apply_label_rules(decode_mask(bytes, options.exif_orientation, options.max_pixels), rules, num_classes);
  } catch (const Error& error) {
    throw_bad_sample(id, name, error);
  }
}

LabelMap load_labels(const std::string& id, const fs::path& path, const LabelConfig& rules, int num_classes,
                     const DecodeOptions& options) {
  return load_labels(id, read_sample_file(id, path).bytes, path.string(), rules, num_classes, options);
}

LabelMap load_class_channels(const std::string& id, const fs::path& path, const LabelConfig& rules, int num_classes,
                             const DecodeOptions& options) {
  const Blob file = read_sample_file(id, path);
  try {
    return decode_class_channels(file.bytes, rules, num_classes, options.exif_orientation, options.max_pixels);
  } catch (const Error& error) {
    throw_bad_sample(id, path.string(), error);
  }
}

void check_mask_size(const Sample& sample, Size mask, const std::string& image_name, const std::string& labels_name) {
  const Size image = sample.image.size();
  if (image == mask) return;
  // Annotation tools that ignore the EXIF tag draw masks on the unturned photo: the one mismatch with a known cure.
  const bool turned = image == Size{mask.width, mask.height};
  throw BadSample(sample.id,
                  fmt::format("mask {} is {} x {}, image {} is {} x {} (height x width); they must be of one size{}",
                              labels_name, mask.height, mask.width, image_name, image.height, image.width,
                              turned ? "; if the photo is turned by its EXIF tag, set data.exif_orientation=false" : ""));
}

void attach_labels(Sample& sample, LabelMap labels, const std::string& image_name, const std::string& labels_name) {
  check_mask_size(sample, labels.size(), image_name, labels_name);
  sample.labels = std::move(labels);
}

}  // namespace tessera
