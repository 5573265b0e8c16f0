#include "data/datasets/dataset_factory.h"

#include "core/error.h"
#include "core/secrets.h"
#include "data/datasets/ade20k.h"
#include "data/datasets/coco.h"
#include "data/datasets/coco_files.h"
#include "data/datasets/open_records.h"
#include "data/datasets/pairs.h"
#include "data/datasets/synthetic.h"
#include "data/fetch/fetch_data.h"
#include "data/records/conversion_mark.h"
#include "storage/place_url.h"

namespace tessera {
namespace {

// Only pairs and shards have masks whose values may mean anything; elsewhere a rule that does nothing would be believed to
// work.
void refuse_label_rules(const DataConfig& config) {
  if (config.labels == LabelConfig{}) return;
  fail_usage("data.labels has no effect for type {}: what its labels mean is known, rules are for type pairs; remove it",
             name_of(config.type));
}

void refuse_url(const DataConfig& config, Split split) {
  const std::string place = root_of(config, split_of(config, split)).string();
  TSR_CHECK_USAGE(!is_url(place),
                  "{} is a URL, and type {} reads the files of a folder: put them into shards (`tessera data convert`) and set "
                  "data.type=mds, or copy them here",
                  mask_urls(place), name_of(config.type));
}

}  // namespace

DatasetPtr make_dataset(const DataConfig& config, Split split) {
  if (config.type != SourceType::kPairs && !in_shards(config.type)) refuse_label_rules(config);
  if (!in_shards(config.type) && config.type != SourceType::kSynthetic) refuse_url(config, split);
  fetch_if_asked(config);
  if (const fs::path root = root_of(config, split_of(config, split)); !root.empty() && !is_url(root.string()))
    refuse_unfinished_conversion(root);
  switch (config.type) {
    case SourceType::kPairs: return make_pairs(config, split);
    case SourceType::kAde20k: return make_ade20k(config, split);
    case SourceType::kCoco: return std::make_shared<CocoDataset>(config, split);
    case SourceType::kSynthetic: return std::make_shared<SyntheticDataset>(config, split);
    case SourceType::kMds:
    case SourceType::kTfrecord:
    case SourceType::kTar: return make_records(config, split);
  }
  fail("unknown data.type {}", static_cast<int>(config.type));
}

DatasetPtr make_test_set(const DataConfig& config) {
  const SplitConfig& test = config.test;
  const bool named = names_files(test) || test.count > 0;
  const bool found = config.type == SourceType::kPairs || (in_shards(config.type) && has_records(config, Split::kTest)) ||
                     (config.type == SourceType::kCoco && find_coco_files(root_of(config, test), Split::kTest).has_value());
  if (!named && !found) return nullptr;
  DatasetPtr set = make_dataset(config, Split::kTest);
  return set->size() > 0 ? set : nullptr;
}

}  // namespace tessera
