#include "data/check/data_look.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/error.h"
#include "core/name_list.h"
#include "core/parallel_map.h"
#include "core/plural.h"
#include "data/check/sample_choice.h"
#include "data/datasets/load_sample.h"

namespace tessera {
namespace {

struct SampleLook {
  ImageLook image;
  std::vector<int64_t> pixels_per_class;
};

std::optional<SampleLook> look_at_sample(const Dataset& dataset, int64_t index) {
  try {
    const Sample sample = dataset.get(index);
    SampleLook look{look_at_image(sample.id, sample.image), {}};
    look.pixels_per_class.resize(static_cast<size_t>(dataset.classes().size()));
    if (!sample.labels) return look;
    for (const int16_t label : sample.labels->labels) {
      if (label >= 0) ++look.pixels_per_class.at(static_cast<size_t>(label));
    }
    return look;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

bool is_labelled(const std::vector<int64_t>& pixels_per_class) {
  return std::any_of(pixels_per_class.begin(), pixels_per_class.end(), [](int64_t pixels) { return pixels > 0; });
}

}  // namespace

DataLook look_at_data(const Dataset& dataset, int64_t count, uint64_t seed, int threads) {
  const std::vector<int64_t> chosen = choose_samples(dataset, count, seed);
  DataLook look{dataset.size(), {}, std::vector<int64_t>(static_cast<size_t>(dataset.classes().size()))};
  ParallelMap<std::optional<SampleLook>> samples(std::ssize(chosen), threads, 2 * threads, [&](int64_t i) {
    return look_at_sample(dataset, chosen[static_cast<size_t>(i)]);
  });
  while (auto next = samples.next()) {
    if (!*next) continue;
    SampleLook& sample = **next;
    for (size_t k = 0; k < look.pixels_per_class.size(); ++k) look.pixels_per_class[k] += sample.pixels_per_class[k];
    look.images.push_back(std::move(sample.image));
  }
  return look;
}

Image stored_image(const Dataset& dataset, int64_t index, const DataConfig& config) {
  const std::filesystem::path file = dataset.image_file(index);
  if (file.empty()) return dataset.get(index).image;
  DecodeOptions options = decode_options(config);
  options.channels = 0;
  return load_image_sample(dataset.id(index), file, options).image;
}

ImageFacts facts_of(const DataLook& look, const Dataset& dataset, const DataConfig& config, uint64_t seed) {
  constexpr int64_t kOpenedAgain = 4;
  ImageFacts facts = facts_of(look.images);
  if (config.channels != 1 || !facts.known()) return facts;
  std::vector<ImageLook> stored;
  for (const int64_t index : choose_samples(dataset, kOpenedAgain, seed)) {
    try {
      stored.push_back(look_at_image(dataset.id(index), stored_image(dataset, index, config)));
    } catch (const BadSample&) {
      continue;
    }
  }
  facts.channels = facts_of(stored).channels;
  return facts;
}

std::vector<std::string> label_notes(const DataLook& look, const ClassTable& classes) {
  constexpr size_t kSamplesPerClass = 8;  // with so many even a rare class should have come
  const size_t read = look.images.size();
  const bool enough = static_cast<int64_t>(read) >= look.samples || read >= kSamplesPerClass * classes.names.size();
  std::vector<std::string> unseen;
  for (size_t k = 0; k < look.pixels_per_class.size(); ++k) {
    if (look.pixels_per_class[k] == 0) unseen.push_back(classes.names[k]);
  }
  if (!enough || unseen.empty() || !is_labelled(look.pixels_per_class)) return {};
  return {
      fmt::format("{} of {} classes occur in none of the {} training {} looked at: {}; data.classes and data.labels say what "
                  "the values of masks mean, `tessera data check` shows what is in them",
                  unseen.size(), classes.names.size(), read, plural(static_cast<int64_t>(read), "sample"), name_list(unseen))};
}

void refuse_unlabelled(const DataLook& look, const Dataset& dataset) {
  if (look.images.empty() || is_labelled(look.pixels_per_class)) return;
  int64_t read = std::ssize(look.images);
  if (read < dataset.size()) {
    read = 0;
    for (int64_t i = 0; i < dataset.size(); ++i) {
      const auto sample = look_at_sample(dataset, i);
      if (!sample) continue;
      if (is_labelled(sample->pixels_per_class)) return;
      ++read;
    }
  }
  fail_usage(
      "not one pixel of the {} training {} is labelled, so there is nothing to learn: every value of the masks is ignored. "
      "data.labels says what their values mean (data.labels.ignore, data.labels.offset), `tessera data check` shows what is in "
      "them",
      read, plural(read, "sample"));
}

}  // namespace tessera
