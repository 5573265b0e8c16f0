#include "train/run_data.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/error.h"
#include "data/cache/cached_dataset.h"
#include "data/datasets/class_table.h"
#include "data/datasets/dataset_factory.h"

namespace tessera {
namespace {

// Groups and keys that make_dataset does not look at.
constexpr std::array kAfterReading = {"data.train.transforms", "data.val.transforms", "data.test.transforms",
                                      "data.normalize.",       "data.threads",        "data.prefetch",
                                      "data.max_bad_share",    "data.fetch",          "data.cache"};

std::vector<SchemaLine> source_lines(const DataConfig& config) {
  Experiment experiment;
  experiment.data = config;
  std::vector<SchemaLine> lines;
  for (const SchemaLine& line : experiment_lines(experiment)) {
    const bool after =
        std::any_of(kAfterReading.begin(), kAfterReading.end(), [&](const char* key) { return line.key.starts_with(key); });
    if (line.key.starts_with("data.") && !line.is_group && !after) lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> differences_of(const RunData& data, const Experiment& experiment) {
  const std::vector<SchemaLine> opened = source_lines(data.config), wanted = source_lines(experiment.data);
  std::vector<std::string> differences;
  for (size_t i = 0; i < std::min(opened.size(), wanted.size()); ++i) {
    if (opened[i].value != wanted[i].value)
      differences.push_back(
          fmt::format("{}: opened with {}, the experiment says {}", wanted[i].key, opened[i].value, wanted[i].value));
  }
  return differences;
}

}  // namespace

RunData open_run_data(const Experiment& experiment) {
  RunData data{.train = make_dataset(experiment.data, Split::kTrain),
               .val = make_dataset(experiment.data, Split::kVal),
               .config = experiment.data};
  TSR_CHECK(data.train->size() > 0, "the training set is empty; look at data.path and data.train");
  if (data.val->size() > 0) check_same_classes(data.train->classes().names, data.val->classes().names, "val");
  data.train->check_labels();
  data.train = with_cache(std::move(data.train), experiment.data);
  data.val = with_cache(std::move(data.val), experiment.data);
  return data;
}

void check_run_data(const RunData& data, const Experiment& experiment) {
  TSR_CHECK(data.train && data.val, "the data given to a run is not opened; open_run_data does that");
  const std::vector<std::string> differences = differences_of(data, experiment);
  TSR_CHECK(differences.empty(),
            "the data given to this run is not that of its experiment:\n  {}\nopen it with this experiment",
            fmt::join(differences, "\n  "));
}

bool is_run_data_of(const RunData& data, const Experiment& experiment) {
  return data.train && data.val && differences_of(data, experiment).empty();
}

}  // namespace tessera
