#include "data/datasets/pair_matching.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/error.h"
#include "core/log.h"

namespace tessera {
namespace {

// Other names say nothing; the format of a file is found by its first bytes.
constexpr std::array<std::string_view, 12> kExtensions = {".jpg",  ".jpeg", ".png", ".tif", ".tiff", ".bmp",
                                                          ".webp", ".jp2",  ".j2k", ".jpx", ".npy",  ".dcm"};
constexpr std::array<std::string_view, 6> kMaskEndings = {"", "_mask", "_label", "_seg", "_segmentation", "-mask"};
constexpr std::string_view kOme = ".ome";
constexpr size_t kNamesShown = 3;

using FilesByStem = std::map<std::string, fs::path>;

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
  TSR_CHECK(!found.empty(), "no {}s below {}: expected files ending in {}", what, folder.string(), image_extensions());
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

// a.ome.tif is an OME-TIFF, whose mask may be called a.png.
std::string without_ome(const std::string& stem) {
  return stem.ends_with(kOme) ? stem.substr(0, stem.size() - kOme.size()) : stem;
}

// The stem of the mask for `stem`, or "". Two candidates are an error: guessing would train on the wrong one.
std::string find_mask(const std::string& stem, const FilesByStem& masks) {
  std::set<std::string> candidates;
  for (std::string_view ending : kMaskEndings) {
    candidates.insert(stem + std::string(ending));
    candidates.insert(without_ome(stem) + std::string(ending));
    candidates.insert(without_ome(stem) + std::string(ending) + std::string(kOme));
  }
  std::string found;
  for (const std::string& candidate : candidates) {
    if (!masks.contains(candidate)) continue;
    TSR_CHECK(found.empty(), "image '{}' has two masks: {} and {}; remove one", stem, masks.at(found).string(),
              masks.at(candidate).string());
    found = candidate;
  }
  return found;
}

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

void warn_about_lonely_masks(const FilesByStem& masks, const std::set<std::string>& used, const fs::path& folder) {
  FilesByStem lonely;
  for (const auto& mask : masks) {
    if (!used.contains(mask.first)) lonely.insert(mask);
  }
  if (lonely.empty()) return;
  log_warn("{} of {} masks in {} have no image and are left out: {}", lonely.size(), masks.size(), folder.string(),
           first_names(lonely));
}

}  // namespace

std::string image_extensions() {
  std::string text;
  for (const std::string_view extension : kExtensions) {
    text += text.empty() ? "" : extension == kExtensions.back() ? " or " : ", ";
    text += extension.substr(1);
  }
  return text;
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
