#include "data/records/tfrecord_format.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/name_list.h"
#include "core/split.h"
#include "core/tfrecord_frame.h"
#include "data/sample.h"
#include "data/tf_example.pb.h"
#include "storage/gunzip.h"

namespace tessera {
namespace {

using FeatureMap = google::protobuf::Map<std::string, records::Feature>;

bool parse(std::span<const uint8_t> data, records::Example& example) {
  return data.size() <= size_t{std::numeric_limits<int>::max()} &&
         example.ParseFromArray(data.data(), static_cast<int>(data.size()));
}

// The first of `names` that has bytes.
std::string* find_bytes(FeatureMap& features, const std::vector<std::string>& names, std::string& found) {
  for (const std::string& name : names) {
    const auto feature = features.find(name);
    if (feature == features.end() || feature->second.bytes_list().value_size() == 0) continue;
    found = name;
    return feature->second.mutable_bytes_list()->mutable_value(0);
  }
  return nullptr;
}

Blob own_string(std::string text) {
  const auto owner = std::make_shared<const std::string>(std::move(text));
  return {{reinterpret_cast<const uint8_t*>(owner->data()), owner->size()}, owner};
}

std::string names_in(const FeatureMap& features) {
  std::vector<std::string> names;
  for (const auto& [name, feature] : features) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names.empty() ? "none" : name_list(names);
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// train-00000-of-00008, as TensorFlow's own converters name shards.
bool is_numbered_shard(std::string_view name) {
  const size_t of = name.rfind("-of-");
  if (of == std::string_view::npos || !is_digits(name.substr(of + 4))) return false;
  const size_t number = name.rfind('-', of - 1);
  return of > 0 && number != std::string_view::npos && is_digits(name.substr(number + 1, of - number - 1));
}

}  // namespace

FeatureNames feature_names(const RecordsConfig& config) {
  FeatureNames names;
  if (!config.image.empty()) names.image = {config.image};
  if (!config.labels.empty()) names.labels = {config.labels};
  if (!config.id.empty()) names.id = {config.id};
  return names;
}

std::string TfRecordFormat::name() const {
  return fmt::format("tfrecord {}", fmt::join(names_.id, " "));
}

bool TfRecordFormat::is_shard(const std::string& file) const {
  std::string name = fs::path(file).filename().string();
  for (const std::string_view ending : {".gz", ".zlib"}) {
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  if (is_numbered_shard(name)) return true;
  const std::string extension = fs::path(name).extension().string();
  return extension == ".tfrecord" || extension == ".tfrecords";
}

// A record may begin with the very bytes of another format: its length is any number. The checksum behind it tells.
bool TfRecordFormat::is_packed(std::span<const uint8_t> bytes) const {
  return !looks_like_tfrecord(bytes) && (looks_like_gzip(bytes) || looks_like_zlib(bytes));
}

std::vector<RecordPlace> TfRecordFormat::places(std::span<const uint8_t> bytes, const std::string& shard) const {
  std::vector<RecordPlace> places;
  for (const TfRecordPlace& record : find_tfrecords(bytes, shard)) {
    places.push_back({"", record.offset, record.size});
    records::Example example;
    if (!parse(bytes.subspan(record.offset, record.size), example)) continue;  // `read` says so of this sample
    std::string found;
    if (std::string* id = find_bytes(*example.mutable_features()->mutable_feature(), names_.id, found))
      places.back().id = std::move(*id);
  }
  return places;
}

EncodedSample TfRecordFormat::read(const Blob& bytes, const RecordPlace& place, const std::string& id,
                                   const std::string& name) const {
  std::span<const uint8_t> data;
  try {
    data = checked_tfrecord(bytes.bytes, {place.offset, place.size});
  } catch (const Error& error) {
    throw BadSample(id, fmt::format("{}: {}", name, error.what()));
  }
  records::Example example;
  if (!parse(data, example)) throw BadSample(id, name + " is no tf.train.Example");
  FeatureMap& features = *example.mutable_features()->mutable_feature();
  std::string feature;
  std::string* image = find_bytes(features, names_.image, feature);
  if (image == nullptr)
    throw BadSample(id, fmt::format("{} has no feature {} of bytes (its features: {}); set data.records.image", name,
                                    fmt::join(names_.image, " or "), names_in(features)));
  EncodedSample sample{id, own_string(std::move(*image)), name + ", " + feature, {}, {}};
  if (std::string* labels = find_bytes(features, names_.labels, feature)) {
    sample.labels = own_string(std::move(*labels));
    sample.labels_name = name + ", " + feature;
  } else {
    sample.labels_name = fmt::format("{}, which has no feature {} of bytes (its features: {}; see data.records.labels)", name,
                                     fmt::join(names_.labels, " or "), names_in(features));
  }
  return sample;
}

}  // namespace tessera
