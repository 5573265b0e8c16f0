#include "data/datasets/pairs.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "core/name_list.h"
#include "data/datasets/class_count.h"
#include "data/datasets/class_masks.h"
#include "data/datasets/class_table.h"
#include "data/datasets/coco_files.h"
#include "data/datasets/load_sample.h"
#include "data/datasets/pair_dataset.h"
#include "data/datasets/pair_layout.h"
#include "data/datasets/pair_splits.h"
#include "data/datasets/sample_list.h"
#include "data/decode/label_rules.h"

namespace tessera {
namespace {

// Where the folder is another source's, what to say to read it as that.
std::string other_source(const fs::path& root) {
  const std::optional<CocoFiles> coco = find_coco_files(root, Split::kTrain);
  if (!coco) return "";
  return fmt::format(". {} holds COCO annotations; to read them, add: {}", coco->json.string(), fmt::join(kCocoKeys, " "));
}

MatchedPairs open_pairs(const Layout& layout, Split folders, const DataConfig& config) {
  const LayoutPart& part = layout.part(folders);
  TSR_CHECK(!part.images.empty(),
            "there are no images to train on in {}: its folders are called val or test, none train; set data.train.images and "
            "data.train.masks",
            layout.root.string());
  TSR_CHECK(!part.masks.empty() || folders == Split::kTest,
            "{} has no masks: no folder of masks is called as it is; set data.{}.masks", part.images.string(),
            name_of(folders));
  const PairFolders files{part.images, part.masks, layout.image_ending, part.masks.empty() ? "" : layout.mask_ending,
                          layout.other_masks};
  MatchedPairs found = config.labels.multi ? match_class_masks(files, config.classes) : match_pairs(files);
  std::erase_if(found.pairs, [&](const FilePair& pair) {
    return std::any_of(layout.apart.begin(), layout.apart.end(),
                       [&](const std::string& folder) { return pair.stem.starts_with(folder + "/"); });
  });
  found.notes.insert(found.notes.begin(), layout.notes.begin(), layout.notes.end());
  return found;
}

// "images/train", as below the root.
std::string folder_text(const Layout& layout, const fs::path& images) {
  const fs::path below = images.lexically_relative(layout.root);
  std::string text = below.empty() || below == "." || *below.begin() == ".." ? images.string() : below.generic_string();
  if (!layout.mask_ending.empty()) text += ", masks *" + layout.mask_ending;
  if (images == layout.train.images && layout.pooled.size() > 1)
    text += fmt::format(", its {} folders as one pool: {}", layout.pooled.size(), name_list(layout.pooled));
  return text;
}

struct Found {
  std::vector<FilePair> pairs;
  DataOrigin origin;
};

Found find_pairs(const DataConfig& config, Split split) {
  const Layout layout = layout_of(config, split);
  const LayoutPart& own = layout.part(split);
  if (split == Split::kTest && own.images.empty() && own.list.empty()) return {};
  // The folders of a split that is only a part of train are train's.
  const Split folders = own.images.empty() ? Split::kTrain : split;
  MatchedPairs matched = open_pairs(layout, folders, config);
  const SplitChoice choice = choose_split(config, layout, split, names_of(matched.pairs, &FilePair::stem));
  Found found;
  found.origin.text = choice.text.empty() ? folder_text(layout, layout.part(folders).images) : choice.text;
  found.origin.notes = std::move(matched.notes);
  found.pairs = pick(std::move(matched.pairs), choice.positions, split_of(config, split).count);
  if (found.pairs.size() < choice.positions.size())
    found.origin.text += fmt::format(", the first {} of {}", found.pairs.size(), choice.positions.size());
  if (split == Split::kTest)
    found.origin.labelled =
        std::any_of(found.pairs.begin(), found.pairs.end(), [](const FilePair& pair) { return !pair.mask.empty(); });
  return found;
}

}  // namespace

DatasetPtr make_pairs(const DataConfig& config, Split split) {
  const std::vector<std::string> names = pair_class_names(config);
  check_label_rules(config.labels, static_cast<int>(names.size()));
  Found found;
  try {
    found = find_pairs(config, split);
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    const std::string hint = other_source(root_of(config, split_of(config, split)));
    if (hint.empty()) throw;
    fail("{}{}", error.what(), hint);
  }
  return std::make_shared<PairDataset>(std::move(found.pairs), make_class_table(config, names), config.labels,
                                       decode_options(config), std::move(found.origin));
}

std::vector<fs::path> mask_folders(const DataConfig& config) {
  std::vector<fs::path> found;
  for (const Split split : {Split::kTrain, Split::kVal, Split::kTest}) {
    try {
      const LayoutPart part = layout_of(config, split).part(split);
      if (!part.masks.empty()) found.push_back(part.masks);
    } catch (const Error&) {
      continue;  // what is not there holds no masks
    }
  }
  return found;
}

}  // namespace tessera
