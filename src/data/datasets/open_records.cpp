#include "data/datasets/open_records.h"

#include <numeric>
#include <optional>

#include "core/error.h"
#include "core/secrets.h"
#include "data/datasets/class_count.h"
#include "data/datasets/class_table.h"
#include "data/datasets/folder_names.h"
#include "data/datasets/held_out.h"
#include "data/datasets/load_sample.h"
#include "data/datasets/open_data_store.h"
#include "data/datasets/open_shards.h"
#include "data/datasets/record_dataset.h"
#include "data/decode/label_rules.h"
#include "data/records/dataset_card.h"
#include "data/records/mds_index.h"
#include "data/records/mds_source.h"
#include "data/records/part_of_records.h"
#include "storage/place_url.h"

namespace tessera {
namespace {

bool is_mds_folder(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / kMdsIndexName, error);
}

// Empty where the split has no shards of its own.
std::string place_of(const DataConfig& config, Split split) {
  const SplitConfig& own = split_of(config, split);
  if (!own.path.empty()) return own.path;
  TSR_CHECK_USAGE(!config.path.empty(), "data.path is not set: give the folder or URL of the {} shards", name_of(config.type));
  if (!is_url(config.path)) {
    const std::string folder = folder_of_split(config.path, split).string();
    if (!folder.empty()) return folder;
    const bool is_train = config.type == SourceType::kMds && split == Split::kTrain && is_mds_folder(config.path);
    return is_train || has_shards(config.type, config.path, split) ? config.path : "";
  }
  return below(config.path, std::string(name_of(split)));
}

std::shared_ptr<FileStore> root_store(const DataConfig& config, Split split) {
  return open_data_store(config.remote, shard_root(config.type, config.path.empty() ? place_of(config, split) : config.path));
}

RecordSourcePtr open_source(const DataConfig& config, Split split) {
  const std::string place = place_of(config, split);
  TSR_CHECK(!place.empty(), "{} has no folder that is called after the {} split ({}) and no shards of it; set data.{}.path",
            config.path, name_of(split), split == Split::kTrain ? "train, training" : "val, validation, test", name_of(split));
  if (config.type == SourceType::kMds) return open_mds(open_data_store(config.remote, place), config.records);
  return open_shards(config.type, place, split, config.records, config.remote);
}

// What is held out is drawn by the place of a sample: its name may lie in a shard that is not here yet.
std::vector<bool> held_out_of(const DataConfig& config, int64_t size) {
  std::vector<std::string> names;
  std::vector<size_t> pool(static_cast<size_t>(size));
  std::iota(pool.begin(), pool.end(), size_t{0});
  for (int64_t i = 0; i < size; ++i) names.push_back(std::to_string(i));
  return draw_held_out(config, pool, names);
}

struct OpenPart {
  RecordSourcePtr source;
  std::string text;
};

OpenPart part_of(const DataConfig& config, Split split) {
  const bool has_val = !place_of(config, Split::kVal).empty();
  if (split == Split::kTest || (split == Split::kVal && has_val))
    return {open_source(config, split), mask_urls(place_of(config, split))};
  const RecordSourcePtr train = open_source(config, Split::kTrain);
  const std::string place = mask_urls(place_of(config, Split::kTrain));
  if (has_val) return {train, place};
  const std::vector<bool> held_out = held_out_of(config, train->size());
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < train->size(); ++i) {
    if (held_out[static_cast<size_t>(i)] == (split == Split::kVal)) chosen.push_back(i);
  }
  const std::string text =
      split == Split::kVal ? held_out_text(config, chosen.size(), static_cast<size_t>(train->size())) : place;
  return {std::make_shared<PartOfRecords>(train, std::move(chosen)), text};
}

OpenPart first_of(OpenPart part, int64_t count) {
  const int64_t size = part.source->size();
  if (count == 0 || count >= size) return part;
  std::vector<int64_t> first(static_cast<size_t>(count));
  std::iota(first.begin(), first.end(), int64_t{0});
  return {std::make_shared<PartOfRecords>(part.source, std::move(first)),
          fmt::format("{}, the first {} of {}", part.text, count, size)};
}

}  // namespace

bool has_records(const DataConfig& config, Split split) {
  return !split_of(config, split).path.empty() || (!is_url(config.path) && !place_of(config, split).empty());
}

DatasetPtr make_records(const DataConfig& given, Split split) {
  const SplitConfig& own = split_of(given, split);
  TSR_CHECK_USAGE(
      own.images.empty() && own.masks.empty() && own.list.empty(),
      "data.{0}.images, masks and list have no effect for type {1}, whose samples lie in shards; remove them and set "
      "data.{0}.path",
      name_of(split), name_of(given.type));
  OpenPart part = first_of(part_of(given, split), own.count);
  DataOrigin origin{.text = part.text, .labelled = part.source->labelled()};
  TSR_CHECK_USAGE(origin.labelled || split == Split::kTest,
                  "{} has no masks under a usual name; set data.records.labels to what they are called{}", part.text,
                  part.source->parts().empty() ? "" : "; it has " + part.source->parts());
  const CardedConfig meant = with_card(given, read_card(*root_store(given, split)));
  if (!meant.note.empty()) origin.notes.push_back(meant.note);
  const DataConfig& config = meant.config;
  TSR_CHECK_USAGE(!config.labels.multi, "data.labels.multi is not possible for type {}: a sample in a shard has one mask",
                  name_of(config.type));
  TSR_CHECK_USAGE(!config.classes.empty() || config.labels.binary,
                  "set data.classes: the class names in order of their label, e.g. [background, nucleus]; {} has no {} that "
                  "says them",
                  given.path, kCardName);
  ClassTable classes = make_class_table(config, config.classes.empty() ? pair_class_names(config) : config.classes);
  check_label_rules(config.labels, classes.size());
  return std::make_shared<RecordDataset>(std::move(part.source), config.records, std::move(classes), config.labels,
                                         decode_options(config), std::move(origin));
}

std::vector<std::string> record_keys(const fs::path& folder) {
  const auto keys = [](SourceType type) {
    return std::vector<std::string>{fmt::format("data.type={}", name_of(type)), "data.classes=[]"};
  };
  std::error_code error;
  if (fs::is_regular_file(folder / kCardName, error)) {
    if (const auto card = read_card(*open_file_store(folder.string()))) return keys(card->type);
  }
  const fs::path train = folder_of_split(folder, Split::kTrain);
  if (is_mds_folder(folder) || (!train.empty() && is_mds_folder(train))) return keys(SourceType::kMds);
  return {};
}

}  // namespace tessera
