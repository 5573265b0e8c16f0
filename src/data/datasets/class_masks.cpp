#include "data/datasets/class_masks.h"

#include <algorithm>
#include <array>

#include "core/class_bits.h"
#include "core/error.h"
#include "data/datasets/load_sample.h"
#include "storage/file_tree.h"

namespace tessera {
namespace {

// Their masks say which pixels to ignore.
constexpr std::array<std::string_view, 2> kIgnoreNames = {"ignore", "void"};

// The stems a mask of `name` may have for the image `stem`; those in a folder named so may have a mask's usual ending, too.
std::vector<std::string> in_folders(const std::string& stem, std::string_view name) {
  std::vector<std::string> stems{fmt::format("{}/{}", name, stem)};
  if (const size_t slash = stem.rfind('/'); slash != std::string::npos)
    stems.push_back(fmt::format("{}/{}/{}", stem.substr(0, slash), name, stem.substr(slash + 1)));
  return stems;
}
std::vector<std::string> by_name(const std::string& stem, std::string_view name) {
  return {fmt::format("{}_{}", stem, name), fmt::format("{}-{}", stem, name), fmt::format("{}/{}", stem, name)};
}

// The stem of the mask that `name` has for the image, or "".
std::string find_class_mask(const std::string& stem, std::string_view name, const FilesByStem& masks) {
  std::vector<std::string> found;
  for (const std::string& candidate : in_folders(stem, name)) found.push_back(find_mask(candidate, masks));
  for (const std::string& candidate : by_name(stem, name)) found.push_back(masks.contains(candidate) ? candidate : "");
  std::erase(found, "");
  if (found.empty()) return "";
  TSR_CHECK(found.size() == 1, "image '{}' has two masks of '{}': {} and {}; remove one", stem, name,
            masks.at(found[0]).string(), masks.at(found[1]).string());
  return found[0];
}

// Which stems of a folder that holds both are masks of others.
std::set<std::string> masks_among(const FilesByStem& images, const std::vector<std::string>& names) {
  std::set<std::string> masks;
  for (const auto& [stem, file] : images) {
    for (const std::string& name : names) {
      if (const std::string mask = find_class_mask(stem, name, images); !mask.empty()) masks.insert(mask);
    }
  }
  return masks;
}

FilePair match_image(const std::string& stem, const fs::path& image, const FilesByStem& masks,
                     const std::vector<std::string>& classes, std::set<std::string>& used) {
  FilePair pair{stem, image, {}};
  const auto take = [&](const std::string& mask) {
    if (mask.empty()) return fs::path();
    used.insert(mask);
    return masks.at(mask);
  };
  for (const std::string& name : classes) pair.class_masks.push_back(take(find_class_mask(stem, name, masks)));
  pair.class_masks.emplace_back();
  for (const std::string_view name : kIgnoreNames) {
    const fs::path mask = take(find_class_mask(stem, name, masks));
    TSR_CHECK(mask.empty() || pair.class_masks.back().empty(),
              "image '{}' has two masks of ignored pixels: {} and {}; remove one", stem, pair.class_masks.back().string(),
              mask.string());
    if (!mask.empty()) pair.class_masks.back() = mask;
  }
  const auto own =
      std::find_if(pair.class_masks.begin(), pair.class_masks.end(), [](const fs::path& mask) { return !mask.empty(); });
  pair.mask = take(find_mask(stem, masks));
  TSR_CHECK(pair.mask.empty() || own == pair.class_masks.end(),
            "image '{}' has a mask for all classes, {}, and one of a class, {}; remove one", stem, pair.mask.string(),
            own->string());
  if (own == pair.class_masks.end()) pair.class_masks.clear();
  return pair;
}

}  // namespace

MatchedPairs match_class_masks(const PairFolders& folders, const std::vector<std::string>& classes) {
  std::vector<std::string> names = classes;
  names.insert(names.end(), kIgnoreNames.begin(), kIgnoreNames.end());
  FolderFiles images = files_by_stem(folders.images, folders.image_ending, "image"), masks;
  std::error_code ignored;
  if (same_folder(folders.images, folders.masks)) {
    for (const std::string& mask : masks_among(images.read, names)) images.read.erase(mask);
  }
  // Where the images lie below the folder of masks, they are none of them.
  std::set<fs::path> are_images;
  for (const auto& [stem, file] : images.read) are_images.insert(file.lexically_normal());
  if (!folders.masks.empty()) masks = files_by_stem(folders.masks, folders.mask_ending, "mask");
  std::erase_if(masks.read, [&](const auto& mask) { return are_images.contains(mask.second.lexically_normal()); });

  MatchedPairs matched;
  std::set<std::string> used;
  for (const auto& [stem, image] : images.read) matched.pairs.push_back(match_image(stem, image, masks.read, classes, used));
  TSR_CHECK(
      !used.empty() || folders.masks.empty() || folders.other_masks,
      "no image in {0} has a mask in {1}: images are named {2}; masks {3}. With data.labels.multi the masks of "
      "'{4}' for an image 'a' are {4}/a.png, a_{4}.png, a-{4}.png or a/{4}.png, and likewise for each of data.classes; or "
      "a.png has a channel for each class",
      folders.images.string(), folders.masks.string(), first_names(images.read),
      masks.read.empty() ? "(none)" : first_names(masks.read), classes.front());
  note_left_out(folders, images, masks, used, matched.notes);
  return matched;
}

LabelMap load_class_masks(const Sample& sample, const FilePair& pair, const LabelConfig& rules,
                          const std::vector<std::string>& classes, const DecodeOptions& options) {
  const auto num_classes = static_cast<int>(classes.size());
  if (!pair.mask.empty()) return load_class_channels(pair.stem, pair.mask, rules, num_classes, options);
  if (pair.class_masks.empty() && rules.missing == MissingMask::kError)
    throw BadSample(pair.stem, "no mask for the image " + pair.image.string());
  LabelMap map(sample.image.height, sample.image.width);
  LabelConfig on_or_off;
  on_or_off.binary = true;
  on_or_off.ignore = rules.ignore;
  for (size_t c = 0; c < pair.class_masks.size(); ++c) {
    const fs::path& file = pair.class_masks[c];
    const bool is_class = c < classes.size();
    if (file.empty()) {
      if (!is_class || rules.missing == MissingMask::kEmpty) continue;
      throw BadSample(pair.stem, fmt::format("no mask of '{}' for the image {}; where a class without a file is not there, set "
                                             "data.labels.missing=empty",
                                             classes[c], pair.image.string()));
    }
    const LabelMap plane = load_labels(pair.stem, file, on_or_off, 2, options);
    check_mask_size(sample, plane.size(), pair.image.string(), file.string());
    for (size_t i = 0; i < map.labels.size(); ++i) {
      if (map.labels[i] == kIgnoreLabel || plane.labels[i] == 0) continue;
      const bool ignore = !is_class || plane.labels[i] == kIgnoreLabel;
      map.labels[i] = ignore ? kIgnoreLabel : static_cast<int16_t>(map.labels[i] | 1 << c);
    }
  }
  return map;
}

}  // namespace tessera
