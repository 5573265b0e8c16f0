#include "data/datasets/ade20k.h"

#include "core/error.h"
#include "data/datasets/ade20k_classes.h"
#include "data/datasets/class_table.h"
#include "data/datasets/load_sample.h"
#include "data/datasets/pair_dataset.h"
#include "data/datasets/sample_list.h"
#include "storage/file_tree.h"

namespace tessera {
namespace {

fs::path challenge_root(const DataConfig& config, const SplitConfig& split) {
  const fs::path given = root_of(config, split);
  TSR_CHECK_USAGE(!given.empty(), "data.path is not set: give the folder ADEChallengeData2016");
  const fs::path inner = given / "ADEChallengeData2016";
  return is_folder(inner) ? inner : given;
}

fs::path folder_of(const fs::path& root, const std::string& given, const std::string& usual, const std::string& key) {
  const fs::path folder = root / (given.empty() ? usual : given);
  TSR_CHECK(is_folder(folder),
            "no such folder: {}; expected the layout of ADEChallengeData2016 (images/training, annotations/training, ...), set "
            "data.path or {}",
            folder.string(), key);
  return folder;
}

}  // namespace

DatasetPtr make_ade20k(const DataConfig& config, Split split) {
  const SplitConfig& own = split_of(config, split);
  const fs::path root = challenge_root(config, own);
  const std::string part = split == Split::kTrain ? "training" : split == Split::kVal ? "validation" : "testing";
  const std::string key = fmt::format("data.{}.", name_of(split));
  const fs::path images = folder_of(root, own.images, "images/" + part, key + "images");
  MatchedPairs found =
      match_pairs({.images = images, .masks = folder_of(root, own.masks, "annotations/" + part, key + "masks")});
  const std::vector<size_t> listed = listed_samples(own.list, root, names_of(found.pairs, &FilePair::stem));

  LabelConfig rules;
  rules.offset = -1;
  return std::make_shared<PairDataset>(
      pick(std::move(found.pairs), listed, own.count), make_class_table(config, ade20k_names(), ade20k_palette()), rules,
      decode_options(config), DataOrigin{.text = images.lexically_relative(root).string(), .notes = std::move(found.notes)});
}

}  // namespace tessera
