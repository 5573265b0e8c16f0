#include "data/check/sample_classes.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "core/class_bits.h"
#include "core/error.h"
#include "core/files.h"
#include "core/image.h"
#include "core/log.h"
#include "core/parallel_map.h"
#include "core/progress_bar.h"
#include "core/signals.h"
#include "data/cache/cached_dataset.h"
#include "data/decode/stored_labels.h"
#include "storage/cache_folder.h"

namespace tessera {
namespace {

class LabelCount {
 public:
  explicit LabelCount(const ClassTable& classes)
      : pixels_(static_cast<size_t>(classes.size())), multi_label_(classes.multi_label) {}

  template <class T, class LabelOf>
  void add_all(const T* values, size_t size, const LabelOf& label_of) {
    for (size_t i = 0; i < size;) {
      const size_t run = run_length(values + i, size - i);
      add(label_of(values[i]), static_cast<int64_t>(run));
      i += run;
    }
  }

  SampleClasses result() const {
    SampleClasses found{.pixels = {}, .labelled = labelled_, .usable = true};
    for (size_t c = 0; c < pixels_.size(); ++c) {
      if (pixels_[c] > 0) found.pixels.emplace_back(static_cast<int16_t>(c), pixels_[c]);
    }
    return found;
  }

 private:
  void add(int16_t label, int64_t count) {
    if (label < 0) return;
    labelled_ += count;
    if (!multi_label_) pixels_.at(static_cast<size_t>(label)) += count;
    for (size_t c = 0; multi_label_ && c < pixels_.size(); ++c) pixels_[c] += has_class(label, static_cast<int>(c)) ? count : 0;
  }

  std::vector<int64_t> pixels_;
  int64_t labelled_ = 0;
  bool multi_label_;
};

SampleClasses classes_of(const Dataset& dataset, int64_t index) {
  const ClassTable& classes = dataset.classes();
  LabelCount count(classes);
  const std::optional<SampleCoding> coding = dataset.coding();
  const std::optional<EncodedSample> stored =
      coding && coding->labelled ? dataset.encoded(index) : std::optional<EncodedSample>();
  if (stored) {
    try {
      const StoredLabels labels = decode_stored_labels(stored->labels.bytes, *coding->rules, classes.size(),
                                                       coding->options->exif_orientation, coding->options->max_pixels);
      with_stored(labels, [&](const auto* values, const auto& label_of) {
        count.add_all(values, static_cast<size_t>(labels.height) * static_cast<size_t>(labels.width), label_of);
      });
    } catch (const Error& error) {
      throw BadSample(stored->id, error.what());
    }
  } else {
    const Sample sample = dataset.get(index);
    if (sample.labels)
      count.add_all(sample.labels->labels.data(), sample.labels->labels.size(), [](int16_t label) { return label; });
  }
  return count.result();
}

// A name that another version of any file, or other settings, would not have; nothing where that is not known.
std::optional<std::string> kept_name(const Dataset& dataset, const DataConfig& config) {
  std::string identity = decoding_of(config);
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const std::string version = dataset.stored_version(i);
    if (version.empty()) return std::nullopt;
    identity += dataset.id(i) + "\n" + version + "\n";
  }
  const XXH128_hash_t hash = XXH3_128bits(identity.data(), identity.size());
  return fmt::format("{:016x}{:016x}.json", hash.high64, hash.low64);
}

nlohmann::json to_json(const std::vector<SampleClasses>& all) {
  nlohmann::json rows = nlohmann::json::array();
  for (const SampleClasses& one : all) {
    nlohmann::json row = nlohmann::json::array({one.usable ? one.labelled : -1});
    for (const auto& [label, pixels] : one.pixels) {
      row.push_back(label);
      row.push_back(pixels);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// Classes are places in lists for those who read it.
std::vector<SampleClasses> from_json(const nlohmann::json& rows, int num_classes) {
  std::vector<SampleClasses> all;
  for (const nlohmann::json& row : rows) {
    SampleClasses& one = all.emplace_back();
    one.usable = row.at(0).get<int64_t>() >= 0;
    one.labelled = std::max<int64_t>(0, row.at(0).get<int64_t>());
    for (size_t k = 1; k + 1 < row.size(); k += 2) {
      const auto label = row[k].get<int64_t>(), pixels = row[k + 1].get<int64_t>();
      TSR_CHECK(label >= 0 && label < num_classes && pixels > 0, "{} pixels of class {}, of {} classes", pixels, label,
                num_classes);
      one.pixels.emplace_back(static_cast<int16_t>(label), pixels);
    }
  }
  return all;
}

// What was kept; nothing where there is none, or it is damaged.
std::optional<std::vector<SampleClasses>> read_kept(const fs::path& file, const Dataset& dataset) {
  std::error_code error;
  if (!fs::exists(file, error)) return std::nullopt;
  try {
    std::vector<SampleClasses> all = from_json(nlohmann::json::parse(read_text(file)), dataset.classes().size());
    if (std::ssize(all) == dataset.size()) return all;
  } catch (const std::exception& e) {
    log_warn("{}: not readable, the labels are counted again: {}", file.string(), e.what());
  }
  return std::nullopt;
}

}  // namespace

std::vector<SampleClasses> count_sample_classes(const Dataset& dataset, int threads) {
  ProgressBar bar("counting labels", dataset.size());
  ParallelMap<SampleClasses> counted(dataset.size(), threads, 2 * threads, [&](int64_t i) {
    try {
      return classes_of(dataset, i);
    } catch (const BadSample&) {
      return SampleClasses{};
    }
  });
  std::vector<SampleClasses> all;
  while (auto next = counted.next()) {
    TSR_CHECK(stop_signal() == 0, "stopped before the labels of all samples were counted");
    all.push_back(std::move(*next));
    bar.update(std::ssize(all));
  }
  return all;
}

std::vector<SampleClasses> kept_sample_classes(const Dataset& dataset, const DataConfig& config, int threads) {
  const std::optional<std::string> name = kept_name(dataset, config);
  std::error_code error;
  fs::path folder;
  try {
    if (name) folder = cache_folder() / "labels";
  } catch (const Error&) {  // no place for a cache
  }
  if (!folder.empty()) {
    if (auto kept = read_kept(folder / *name, dataset)) return *std::move(kept);
  }
  std::vector<SampleClasses> all = count_sample_classes(dataset, threads);
  if (folder.empty()) return all;
  try {
    fs::create_directories(folder);
    write_file(folder / *name, to_json(all).dump());
  } catch (const std::exception& e) {
    log_debug("the count of labels is not kept: {}", e.what());
  }
  return all;
}

}  // namespace tessera
