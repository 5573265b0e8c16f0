#include "data/check/data_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/error.h"
#include "core/parallel_map.h"
#include "data/check/range_notes.h"
#include "data/check/sample_choice.h"
#include "data/datasets/dataset_factory.h"

namespace tessera {
namespace {

// Opens the files of any config of pairs, also of one that says nothing of classes. Where classes overlap it must: they are the
// names of files.
DatasetPtr open_files(DataConfig config, Split split) {
  if (config.type == SourceType::kPairs && !config.labels.multi) {
    config.labels = {};
    config.classes = {"any"};
    config.palette = {};
  }
  return make_dataset(config, split);
}

std::vector<ImageLook> look_at_stored(const Dataset& dataset, const std::vector<int64_t>& samples, const DataConfig& config,
                                      int threads) {
  std::vector<ImageLook> looks;
  ParallelMap<std::optional<ImageLook>> images(
      std::ssize(samples), threads, 2 * threads, [&](int64_t i) -> std::optional<ImageLook> {
        const int64_t index = samples[static_cast<size_t>(i)];
        try {
          return look_at_image(dataset.id(index), stored_image(dataset, index, config));
        } catch (const std::exception&) {
          return std::nullopt;
        }
      });
  while (auto look = images.next()) {
    if (*look) looks.push_back(std::move(**look));
  }
  return looks;
}

// Grey pictures need one channel of a network that learns from nothing; weights of RGB pictures need their three.
void advise_channels(const Experiment& experiment, DataAdvice& advice) {
  const int64_t given = experiment.data.channels, shown = facts_of(advice.images).channels;
  advice.channels = given;
  if (shown == 0 || shown == given) return;
  const bool convertible = (shown == 1 || shown == 3) && (given == 1 || given == 3);
  const bool from_nothing = experiment.model.pretrained.empty();
  if (convertible && !(shown == 1 && given == 3 && from_nothing)) return;
  advice.channels = shown;
  advice.channels_needed = !convertible;
  advice.keys.push_back(fmt::format("data.channels={}", shown));
}

}  // namespace

DataAdvice advise_data(const Experiment& experiment, bool names_given, int threads, bool all_masks, Split split) {
  const DataConfig& given = experiment.data;
  const DatasetPtr files = open_files(given, split);
  const std::vector<int64_t> chosen = choose_samples(*files, kSamplesLookedAt, experiment.train.seed);
  const auto masks_of = [&](const Dataset& dataset, const std::vector<int64_t>& samples) {
    return look_at_masks(dataset, samples, static_cast<uint64_t>(given.max_pixels), given.exif_orientation, threads);
  };
  const auto masks_of_all = [&](const Dataset& dataset) {
    std::vector<int64_t> all(static_cast<size_t>(dataset.size()));
    std::iota(all.begin(), all.end(), int64_t{0});
    return masks_of(dataset, all);
  };
  DataAdvice advice;
  advice.labels.labels = given.labels;
  advice.labels.classes = given.classes;
  // Of other sources it is known what their masks mean.
  const bool open_question = given.type == SourceType::kPairs && !given.labels.multi;
  if (open_question) {
    advice.masks = masks_of(*files, chosen);
    advice.labels = advise_labels(advice.masks, given, names_given);
  }
  if (open_question && (advice.labels.needed || all_masks)) {
    advice.masks = masks_of_all(*files);
    try {
      if (split == Split::kTrain) advice.masks.merge(masks_of_all(*open_files(given, Split::kVal)));
    } catch (const Error&) {
      // Validation data that cannot be opened is told of where it is asked for.
    }
    advice.labels = advise_labels(advice.masks, given, names_given);
  }
  advice.images = look_at_stored(*files, chosen, given, threads);
  advice.keys = label_keys(advice.labels, given);
  advise_channels(experiment, advice);

  advice.config = given;
  advice.config.labels = advice.labels.labels;
  advice.config.classes = advice.labels.classes;
  if (!given.palette.empty() && given.palette.size() != advice.config.classes.size()) {
    advice.config.palette = {};
    advice.keys.emplace_back("data.palette=[]");
  }
  const NormalizeConfig old_defaults = default_normalize(given.channels), defaults = default_normalize(advice.channels);
  advice.config.channels = advice.channels;
  if (given.normalize.mean == old_defaults.mean) advice.config.normalize.mean = defaults.mean;
  if (given.normalize.std == old_defaults.std) advice.config.normalize.std = defaults.std;
  return advice;
}

}  // namespace tessera
