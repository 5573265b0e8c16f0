#include "data/convert/stored_sample.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/files.h"
#include "data/datasets/encoded_dataset.h"
#include "data/datasets/load_sample.h"
#include "data/decode/png_writer.h"

namespace tessera {
namespace {

Blob png_of(const Sample& sample) {
  if (!sample.image.is_bytes() || (sample.image.channels != 1 && sample.image.channels != 3))
    throw BadSample(sample.id, "an image that is no file and not 8-bit grey or RGB cannot be stored as a PNG");
  return own_bytes(encode_png(sample.image));
}

}  // namespace

EncodedSample stored_sample(const Dataset& dataset, int64_t index) {
  if (std::optional<EncodedSample> stored = dataset.encoded(index)) return *std::move(stored);
  const Sample sample = dataset.get(index);
  EncodedSample stored{sample.id, {}, "", {}, ""};
  const fs::path file = dataset.image_file(index);
  stored.image = file.empty() ? png_of(sample) : read_sample_file(sample.id, file);
  stored.image_name = file.empty() ? sample.id : file.string();
  if (sample.labels) stored.labels = own_bytes(encode_png_labels(*sample.labels));
  stored.labels_name = stored.image_name;
  return stored;
}

// Masks that are drawn hold classes.
LabelConfig stored_label_rules(const Dataset& dataset) {
  const auto* const files = dynamic_cast<const EncodedDataset*>(&dataset);
  return files != nullptr ? files->rules() : LabelConfig{};
}

bool stored_orientation(const Dataset& dataset, const DataConfig& config) {
  const auto* const files = dynamic_cast<const EncodedDataset*>(&dataset);
  return files != nullptr ? files->options().exif_orientation : config.exif_orientation;
}

std::vector<int64_t> spread_samples(const Dataset& dataset) {
  constexpr int64_t kMost = 64;
  const int64_t size = dataset.size(), count = std::min(size, kMost);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < count; ++i) indices.push_back(i * size / count);
  return indices;
}

uint64_t stored_bytes(const Dataset& dataset, int64_t index) {
  const fs::path image = dataset.image_file(index), mask = dataset.mask_file(index);
  std::error_code error;
  const uint64_t bytes = image.empty() || mask.empty() ? 0 : fs::file_size(image, error) + fs::file_size(mask, error);
  if (bytes > 0 && !error) return bytes;
  const EncodedSample sample = stored_sample(dataset, index);
  return sample.image.size() + sample.labels.size();
}

uint64_t content_key(const EncodedSample& sample) {
  const std::array<uint64_t, 3> parts = {sample.image.size(), XXH3_64bits(sample.image.bytes.data(), sample.image.size()),
                                         XXH3_64bits(sample.labels.bytes.data(), sample.labels.size())};
  return XXH3_64bits(parts.data(), sizeof parts);
}

}  // namespace tessera
