#include "data/datasets/pair_matching.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/error.h"
#include "core/log.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 5> kExtensions = {".jpg", ".jpeg", ".png", ".tif", ".tiff"};
constexpr std::array<std::string_view, 6> kMaskEndings = {"", "_mask", "_label", "_seg", "_segmentation", "-mask"};
constexpr size_t kNamesShown = 3;

}  // namespace

FilesByStem files_by_stem(const fs::path& folder, std::string_view what) {
  FilesByStem found;
  for (const fs::path& file : list_files(folder)) {
    if (!is_image_file(file)) continue;
    fs::path stem = file.lexically_relative(folder);
    stem.replace_extension();
    const auto [place, is_new] = found.emplace(stem.generic_string(), file);
    TSR_CHECK(is_new, "two {}s have the stem '{}': {} and {}; remove or rename one", what, stem.generic_string(),
              place->second.string(), file.string());
  }
  TSR_CHECK(!found.empty(), "no {}s below {}: expected files ending in jpg, jpeg, png, tif or tiff", what, folder.string());
  return found;
}

std::string first_names(const FilesByStem& files) {
  std::string text;
  size_t shown = 0;
  for (const auto& [stem, file] : files) {
    if (shown++ == kNamesShown) return text + ", ...";
    text += (text.empty() ? "" : ", ") + file.filename().string();
  }
  return text;
}

std::string find_mask(const std::string& stem, const FilesByStem& masks) {
  std::string found;
  for (std::string_view ending : kMaskEndings) {
    const std::string candidate = stem + std::string(ending);
    if (!masks.contains(candidate)) continue;
    TSR_CHECK(found.empty(), "image '{}' has two masks: {} and {}; remove one", stem, masks.at(found).string(),
              masks.at(candidate).string());
    found = candidate;
  }
  return found;
}

namespace {

// In a folder that holds both, a file is a mask if it is another file's stem plus an ending.
FilesByStem take_masks_out(FilesByStem& images) {
  FilesByStem masks;
  for (const auto& [stem, file] : images) {
    for (std::string_view ending : kMaskEndings) {
      if (!ending.empty() && images.contains(stem + std::string(ending))) {
        masks.insert(*images.find(stem + std::string(ending)));
      }
    }
  }
  for (const auto& [stem, file] : masks) images.erase(stem);
  return masks;
}

}  // namespace

void warn_about_lonely_masks(const FilesByStem& masks, const std::set<std::string>& used, const fs::path& folder) {
  FilesByStem lonely;
  for (const auto& mask : masks) {
    if (!used.contains(mask.first)) lonely.insert(mask);
  }
  if (lonely.empty()) return;
  log_warn("{} of {} masks in {} have no image and are left out: {}", lonely.size(), masks.size(), folder.string(),
           first_names(lonely));
}

bool is_image_file(const fs::path& path) {
  const std::string extension = lower(path.extension().string());
  return std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end();
}

std::vector<FilePair> match_pairs(const fs::path& images, const fs::path& masks) {
  FilesByStem image_files = files_by_stem(images, "image");
  std::error_code ignored;
  const bool one_folder = fs::equivalent(images, masks, ignored);
  const FilesByStem mask_files = one_folder ? take_masks_out(image_files) : files_by_stem(masks, "mask");

  std::vector<FilePair> pairs;
  std::set<std::string> used;
  for (const auto& [stem, image] : image_files) {
    const std::string mask = find_mask(stem, mask_files);
    if (!mask.empty()) used.insert(mask);
    pairs.push_back({stem, image, mask.empty() ? fs::path() : mask_files.at(mask)});
  }
  TSR_CHECK(!used.empty(),
            "no image in {} has a mask in {}: images are named {}; masks {}. A mask has its image's name, with any extension, "
            "and may end in _mask, _label, _seg, _segmentation or -mask",
            images.string(), masks.string(), first_names(image_files), mask_files.empty() ? "(none)" : first_names(mask_files));
  warn_about_lonely_masks(mask_files, used, masks);
  return pairs;
}

}  // namespace tessera
