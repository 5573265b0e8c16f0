#include "data/datasets/pairs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "core/error.h"
#include "core/name_hash.h"
#include "core/name_list.h"
#include "core/rng.h"
#include "data/datasets/class_count.h"
#include "data/datasets/class_table.h"
#include "data/datasets/load_sample.h"
#include "data/datasets/pair_dataset.h"
#include "data/datasets/sample_list.h"
#include "data/decode/label_rules.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 3> kImageFolders = {"images", "imgs", "image"};
constexpr std::array<std::string_view, 4> kMaskFolders = {"masks", "annotations", "labels", "mask"};

std::string folders_in(const fs::path& root) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(root, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_directory(ignored)) names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

fs::path find_folder(const fs::path& root, const std::string& given, std::span<const std::string_view> usual,
                     std::string_view key) {
  if (!given.empty()) {
    TSR_CHECK(fs::is_directory(root / given), "{}: no such folder: {}; folders in {}: {}", key, (root / given).string(),
              root.string(), folders_in(root));
    return root / given;
  }
  for (std::string_view name : usual) {
    if (fs::is_directory(root / name)) return root / name;
  }
  fail("set {}: none of the usual folders ({}) is in {}; folders there: {}", key, fmt::join(usual, ", "), root.string(),
       folders_in(root));
}

std::vector<FilePair> find_pairs(const DataConfig& config, const SplitConfig& split, Split which) {
  const fs::path root = root_of(config, split);
  TSR_CHECK_USAGE(!root.empty(), "data.path is not set: give the folder that holds the images and masks");
  TSR_CHECK(fs::is_directory(root), "data.path: no such folder: {}", root.string());
  const std::string key = fmt::format("data.{}.", name_of(which));
  const fs::path images = find_folder(root, split.images, kImageFolders, key + "images");
  return match_pairs(images, find_folder(root, split.masks, kMaskFolders, key + "masks"));
}

std::vector<size_t> listed(const DataConfig& config, const SplitConfig& split, const std::vector<FilePair>& pairs) {
  return listed_samples(split.list, root_of(config, split), names_of(pairs, &FilePair::stem));
}

// Which of `pool` are held out for val: those whose names draw the smallest numbers. So when files come or go, hardly any other
// changes sides, and a model is not measured on what an earlier one was trained on.
std::vector<bool> draw_held_out(const DataConfig& config, const std::vector<size_t>& pool, const std::vector<FilePair>& pairs) {
  std::vector<std::pair<double, size_t>> drawn;
  for (const size_t i : pool) drawn.emplace_back(Rng(config.split_seed, Stream::kSplit, name_hash(pairs[i].stem)).uniform(), i);
  std::sort(drawn.begin(), drawn.end());
  auto count = static_cast<size_t>(std::lround(config.val_share * static_cast<double>(pool.size())));
  if (config.val_share > 0 && config.val_share < 1 && pool.size() >= 2) count = std::clamp<size_t>(count, 1, pool.size() - 1);
  std::vector<bool> held_out(pairs.size(), false);
  for (size_t i = 0; i < count; ++i) held_out[drawn[i].second] = true;
  return held_out;
}

// A model that has seen what it is measured on looks better than it is.
void refuse_overlap(const std::vector<FilePair>& pairs, const std::vector<size_t>& train, const std::vector<size_t>& val) {
  const std::set<size_t> trained(train.begin(), train.end());
  std::vector<std::string> both;
  for (size_t i : val) {
    if (trained.contains(i)) both.push_back(pairs[i].stem);
  }
  if (both.empty()) return;
  fail(
      "data.train.list and data.val.list share {} of {} validation samples: {}; take them out of one list (to measure on "
      "training data on purpose, use eval --train-split)",
      both.size(), val.size(), name_list(both));
}

std::vector<size_t> choose(const DataConfig& config, Split split, const std::vector<FilePair>& pairs) {
  const bool val_has_folders = !config.val.images.empty() || !config.val.path.empty();
  if (val_has_folders) return listed(config, split_of(config, split), pairs);

  const std::vector<size_t> pool = listed(config, config.train, pairs);
  std::vector<bool> held_out(pairs.size(), false);
  if (!config.val.list.empty()) {
    const std::vector<size_t> val = listed(config, config.val, pairs);
    if (!config.train.list.empty()) refuse_overlap(pairs, pool, val);
    if (split == Split::kVal) return val;
    if (!config.train.list.empty()) return pool;
    for (size_t i : val) held_out[i] = true;
  } else {
    held_out = draw_held_out(config, pool, pairs);
  }
  std::vector<size_t> chosen = pool;
  std::erase_if(chosen, [&](size_t i) { return held_out[i] != (split == Split::kVal); });
  if (split == Split::kVal) std::sort(chosen.begin(), chosen.end());  // whatever the order of train's list
  return chosen;
}

}  // namespace

DatasetPtr make_pairs(const DataConfig& config, Split split) {
  const std::vector<std::string> names = pair_class_names(config);
  const bool val_has_folders = !config.val.images.empty() || !config.val.path.empty();
  check_label_rules(config.labels, static_cast<int>(names.size()));
  // The folders of a val that is only a part of train are train's.
  const Split folders = split == Split::kVal && val_has_folders ? Split::kVal : Split::kTrain;
  const std::vector<FilePair> pairs = find_pairs(config, split_of(config, folders), folders);

  std::vector<FilePair> chosen = pick(pairs, choose(config, split, pairs), split_of(config, split).count);
  return std::make_shared<PairDataset>(std::move(chosen), make_class_table(config, names), config.labels,
                                       decode_options(config));
}

std::vector<fs::path> mask_folders(const DataConfig& config) {
  std::vector<fs::path> found;
  for (const SplitConfig* split : {&config.train, &config.val}) {
    const fs::path root = root_of(config, *split);
    if (root.empty()) continue;
    const auto is_there = [&](std::string_view name) { return fs::is_directory(root / name); };
    const auto usual = std::find_if(kMaskFolders.begin(), kMaskFolders.end(), is_there);
    if (!split->masks.empty()) {
      found.push_back(root / split->masks);
    } else if (usual != kMaskFolders.end()) {
      found.push_back(root / *usual);
    }
  }
  return found;
}

}  // namespace tessera
