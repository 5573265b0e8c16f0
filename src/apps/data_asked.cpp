#include "apps/data_asked.h"

#include <algorithm>

#include "apps/train_command.h"
#include "core/error.h"
#include "core/files.h"
#include "data/datasets/coco_files.h"
#include "data/datasets/dataset_factory.h"
#include "data/datasets/open_records.h"
#include "data/fetch/fetch_data.h"

namespace tessera {
namespace {

// What a folder of images is trained with where no config is named.
std::string default_config(bool multi_label) {
  const std::string name = multi_label ? "unet_multi_label" : "unet", file = "configs/pairs/" + name + ".yaml";
  std::error_code error;
  return fs::exists(file, error) ? file : name;  // the one that the program carries
}

bool sets(const std::vector<std::string>& overrides, const std::string& key) {
  return std::any_of(overrides.begin(), overrides.end(), [&](const std::string& text) { return text.starts_with(key + "="); });
}

}  // namespace

AskedData::AskedData(const ConfigArguments& arguments)
    : config(arguments.file().string()), overrides(arguments.overrides()), experiment(arguments.load()) {
  names_given = sets(overrides, "data.classes");
  own_config = !config.empty();
  if (config.empty()) {
    config = default_config(experiment.data.labels.multi);
    if (experiment.data.type == SourceType::kPairs) {
      experiment = load_experiment(config, overrides);
    } else if (experiment.data.classes.empty() && !names_given) {
      overrides.emplace_back("data.classes=[]");  // those of that config are for pairs
    }
  }
  fetch_if_asked(experiment.data);
  if (!sets(overrides, "data.type")) take_coco();
  if (!sets(overrides, "data.type")) take_records();
}

std::string AskedData::run_name() const {
  const bool named = sets(overrides, "run.name") || sets(overrides, "run.dir") || !experiment.run.dir.empty();
  const bool by_config = !experiment.run.name.empty() && experiment.run.name != fs::path(config).stem().string();
  return named || by_config ? "" : run_name_for(experiment.data.path);
}

// Where there are COCO annotations and no masks, that is what the folder is.
void AskedData::take_coco() {
  const DataConfig& data = experiment.data;
  if (data.type != SourceType::kPairs || data.path.empty() || !find_coco_files(data.path, Split::kTrain)) return;
  try {
    make_dataset(data, Split::kTrain);
  } catch (const Error&) {
    for (const char* key : kCocoKeys) overrides.emplace_back(key);
    experiment = load_experiment(config, overrides);
  }
}

// Where a card or an index says that samples lie in shards.
void AskedData::take_records() {
  const DataConfig& data = experiment.data;
  if (data.type != SourceType::kPairs || data.path.empty()) return;
  const std::vector<std::string> keys = record_keys(data.path);
  for (const std::string& key : keys) {
    if (!sets(overrides, key.substr(0, key.find('=')))) overrides.push_back(key);
  }
  if (!keys.empty()) experiment = load_experiment(config, overrides);
}

}  // namespace tessera
