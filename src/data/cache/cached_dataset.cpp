#include "data/cache/cached_dataset.h"

#include <algorithm>
#include <array>
#include <utility>

#include "config/experiment.h"
#include "core/byte_count.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/memory_limit.h"
#include "core/version.h"
#include "data/cache/sample_entry.h"
#include "storage/cache_folder.h"

namespace tessera {
namespace {

constexpr int64_t kGrace = 1000;  // see SampleStore: enough to meet with every segment that is of use

// The cached pages are the system's to give away, but in a control group they count as its memory: a cache far beyond it would
// be read from the disk again and again.
uint64_t usual_limit(const fs::path& folder) {
  fs::path there = fs::absolute(folder);
  std::error_code error;
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  const auto space = fs::space(there, error);
  const uint64_t memory = static_cast<uint64_t>(memory_limit()) / 2;
  return error ? memory : std::min<uint64_t>(memory, space.available / 2);
}

}  // namespace

std::string decoding_of(const DataConfig& config) {
  constexpr std::array kDecoding = {"data.type",       "data.channels", "data.image.",  "data.exif_orientation",
                                    "data.max_pixels", "data.classes",  "data.labels.", "data.coco."};
  Experiment experiment;
  experiment.data = config;
  std::string text = version() + " " + build_commit() + "\n";
  for (const SchemaLine& line : experiment_lines(experiment)) {
    const bool counts =
        std::any_of(kDecoding.begin(), kDecoding.end(), [&](const char* key) { return line.key.starts_with(key); });
    if (counts && !line.is_group) text += line.key + "=" + line.value + "\n";
  }
  return text;
}

CachedDataset::CachedDataset(DatasetPtr inner, SampleCacheKind kind, std::shared_ptr<SampleStore> store, std::string decoding)
    : inner_(std::move(inner)), kind_(kind), store_(std::move(store)), decoding_(std::move(decoding)) {}

CachedDataset::~CachedDataset() {
  log_debug("sample cache {}: {} samples read from it, {} damaged", store_->folder().string(), store_->hits(),
            store_->damaged());
}

std::optional<SampleKey> CachedDataset::key_of(int64_t index) const {
  const std::string stored = inner_->stored_version(index);
  if (stored.empty()) return std::nullopt;
  const std::string kind(name_of(kind_)), &decoding = kind_ == SampleCacheKind::kDecoded ? decoding_ : std::string();
  return sample_key(kind + "\n" + decoding + "\n" + inner_->id(index) + "\n" + stored);
}

Sample CachedDataset::get(int64_t index) const {
  if (kind_ == SampleCacheKind::kEncoded) {
    const std::optional<EncodedSample> stored = encoded(index);
    return stored ? inner_->decode(*stored) : inner_->get(index);
  }
  const std::optional<SampleKey> key = key_of(index);
  if (!key) return inner_->get(index);
  if (std::optional<Sample> kept = find_decoded(*store_, *key)) return *std::move(kept);
  Sample sample = inner_->get(index);
  keep_decoded(*store_, *key, sample);
  return sample;
}

// Who asks for files of a cache of decoded samples would decode them once more: there are none to be had.
std::optional<EncodedSample> CachedDataset::encoded(int64_t index) const {
  if (kind_ == SampleCacheKind::kDecoded) return std::nullopt;
  const std::optional<SampleKey> key = key_of(index);
  if (!key) return inner_->encoded(index);
  if (std::optional<EncodedSample> kept = find_encoded(*store_, *key)) return kept;
  std::optional<EncodedSample> sample = inner_->encoded(index);
  if (sample) keep_encoded(*store_, *key, *sample);
  return sample;
}

std::optional<SampleCoding> CachedDataset::coding() const {
  return kind_ == SampleCacheKind::kDecoded ? std::nullopt : inner_->coding();
}

DatasetPtr with_cache(DatasetPtr dataset, const DataConfig& config) {
  if (config.cache == SampleCacheKind::kNone || dataset->size() == 0) return dataset;
  if (dataset->stored_version(0).empty()) {
    log_info("data.cache={}: samples of type {} are not cached", name_of(config.cache), name_of(config.type));
    return dataset;
  }
  const fs::path folder = config.cache_dir.empty() ? cache_folder() / "samples" : fs::path(config.cache_dir);
  const uint64_t limit = config.cache_limit.empty()
                             ? usual_limit(folder)
                             : static_cast<uint64_t>(parse_byte_count(config.cache_limit, "data.cache_limit"));
  auto store = std::make_shared<SampleStore>(folder, limit, kGrace);
  log_info("data.cache={}: {}, up to {:.3g} GB", name_of(config.cache), folder.string(), static_cast<double>(limit) * 1e-9);
  return std::make_shared<CachedDataset>(std::move(dataset), config.cache, std::move(store), decoding_of(config));
}

}  // namespace tessera
