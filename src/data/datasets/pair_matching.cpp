#include "data/datasets/pair_matching.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/error.h"
#include "core/name_list.h"
#include "core/plural.h"
#include "data/datasets/labelme.h"
#include "storage/file_tree.h"

namespace tessera {
namespace {

// Other names say nothing; the format of a file is found by its first bytes.
constexpr std::array<std::string_view, 12> kExtensions = {".jpg",  ".jpeg", ".png", ".tif", ".tiff", ".bmp",
                                                          ".webp", ".jp2",  ".j2k", ".jpx", ".npy",  ".dcm"};
// What a mask's name has behind its image's. _L and _P are CamVid's.
constexpr std::array<std::string_view, 12> kMaskEndings = {
    "", "_mask", "_label", "_seg", "_segmentation", "-mask", "_masks", "_labels", "_gt", "_GT", "_L", "_P"};
// Files that lie beside images and are none; nobody misses them.
constexpr std::array<std::string_view, 14> kCompanions = {"",     ".txt",  ".md",   ".json", ".xml", ".csv", ".tsv",
                                                          ".yml", ".yaml", ".html", ".db",   ".ini", ".lst", ".log"};
constexpr std::string_view kOme = ".ome";
constexpr size_t kNamesShown = 3;
constexpr size_t kAnnotationStart = 4096;  // bytes: the list of shapes begins after a version and some flags

// Of the last part of a name, in small letters: ".png"; a name that begins with its only dot has none.
std::string extension_of(std::string_view name) {
  name.remove_prefix(name.rfind('/') + 1);
  const std::string small = lower(name);
  for (const std::string_view two : {".nii.gz", ".ome.zarr"}) {
    if (small.ends_with(two)) return std::string(two);
  }
  const size_t dot = small.rfind('.');
  return dot == std::string::npos || dot == 0 ? "" : small.substr(dot);
}

bool is_image_extension(std::string_view extension) {
  return std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end();
}

std::string unread_text(const FolderFiles& files) {
  std::vector<std::string> parts;
  for (const auto& [extension, count] : files.unread) parts.push_back(fmt::format("{} {}", count, extension));
  return name_list(parts);
}

}  // namespace

bool is_annotation(const fs::path& mask) {
  return lower(mask.extension().string()) == ".json";
}

FilesByStem annotations_by_stem(const fs::path& folder, const FilesByStem& images) {
  FilesByStem found;
  const std::string root = (folder / "").string();
  for (const std::string& name : names_below(folder)) {
    if (!is_annotation(name)) continue;
    const std::string stem = name.substr(0, name.size() - extension_of(name).size());
    if (!images.contains(stem)) continue;  // of a project, of another tool
    if (found.empty() && !looks_like_labelme(start_of_file(root + name, kAnnotationStart))) return {};
    found.emplace(stem, root + name);
  }
  return found;
}

FolderFiles files_by_stem(const fs::path& folder, const std::string& ending, std::string_view what) {
  FolderFiles found;
  const std::string root = (folder / "").string();
  for (const std::string& name : names_below(folder)) {
    const std::string extension = extension_of(name);
    std::string stem = name.substr(0, name.size() - extension.size());
    if (!stem.ends_with(ending)) continue;
    stem.resize(stem.size() - ending.size());
    if (!is_image_extension(extension)) {
      if (std::find(kCompanions.begin(), kCompanions.end(), extension) != kCompanions.end()) continue;
      found.unread_stems.insert(stem);
      ++found.unread[extension];
      continue;
    }
    const size_t known = found.read.size();
    const auto place = found.read.try_emplace(found.read.end(), stem, root + name);  // the names are nearly in order
    TSR_CHECK(found.read.size() > known, "two {}s have the stem '{}': {} and {}; remove or rename one", what, stem,
              place->second, root + name);
  }
  TSR_CHECK(!found.read.empty(), "no {}s below {}: expected files ending in {}{}{}", what, folder.string(),
            ending.empty() ? "" : ending + " and ", image_extensions(),
            found.unread.empty() ? "" : fmt::format("; found {}, which are not read: convert them", unread_text(found)));
  return found;
}

std::string first_names(const FilesByStem& files) {
  std::string text;
  size_t shown = 0;
  for (const auto& [stem, file] : files) {
    if (shown++ == kNamesShown) return text + ", ...";
    text += (text.empty() ? "" : ", ") + file.substr(file.rfind('/') + 1);
  }
  return text;
}

namespace {

// a.ome.tif is an OME-TIFF, whose mask may be called a.png.
std::string without_ome(const std::string& stem) {
  return stem.ends_with(kOme) ? stem.substr(0, stem.size() - kOme.size()) : stem;
}

}  // namespace

// All candidates begin alike, so those that are there lie together among the sorted masks.
std::string find_mask(const std::string& stem, const FilesByStem& masks) {
  const std::string beginning = without_ome(stem);
  const bool is_ome = beginning.size() < stem.size();
  const auto is_ending = [](std::string_view text) {
    return std::find(kMaskEndings.begin(), kMaskEndings.end(), text) != kMaskEndings.end();
  };
  const auto found_end = masks.end();
  auto found = found_end;
  for (auto mask = masks.lower_bound(beginning); mask != found_end && mask->first.starts_with(beginning); ++mask) {
    const std::string_view rest = std::string_view(mask->first).substr(beginning.size());
    const bool fits = is_ending(rest) || (rest.ends_with(kOme) && is_ending(rest.substr(0, rest.size() - kOme.size()))) ||
                      (is_ome && rest.starts_with(kOme) && is_ending(rest.substr(kOme.size())));
    if (!fits) continue;
    TSR_CHECK(found == found_end, "image '{}' has two masks: {} and {}; remove one", stem, found->second, mask->second);
    found = mask;
  }
  return found == found_end ? "" : found->first;
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

// Whether an image of the mask is there, in a format that is not read: then the format is to blame, not the image.
bool image_is_unread(const std::string& mask, const std::set<std::string>& unread_images) {
  return std::any_of(kMaskEndings.begin(), kMaskEndings.end(), [&](std::string_view ending) {
    return mask.ends_with(ending) && unread_images.contains(mask.substr(0, mask.size() - ending.size()));
  });
}

void note_lonely_masks(const FilesByStem& masks, const std::set<std::string>& used, const FolderFiles& images,
                       const fs::path& folder, std::vector<std::string>& notes) {
  FilesByStem lonely;
  for (const auto& mask : masks) {
    if (!used.contains(mask.first) && !image_is_unread(mask.first, images.unread_stems)) lonely.insert(mask);
  }
  if (lonely.empty()) return;
  notes.push_back(fmt::format("{} of {} masks in {} have no image and are left out: {}", lonely.size(), masks.size(),
                              folder.string(), first_names(lonely)));
}

// Whether a letter's accent is a character behind it (U+0300 to U+036F), as macOS writes names.
bool has_loose_accents(const FilesByStem& files) {
  return std::any_of(files.begin(), files.end(), [](const auto& entry) {
    const std::string& name = entry.first;
    for (size_t i = 0; i + 1 < name.size(); ++i) {
      const auto first = static_cast<unsigned char>(name[i]), second = static_cast<unsigned char>(name[i + 1]);
      if ((first == 0xCC && second >= 0x80) || (first == 0xCD && second < 0xB0)) return true;
    }
    return false;
  });
}

// Such names look the same as those with one character for both, and are others.
std::string accents_text(const FilesByStem& images, const FilesByStem& masks) {
  const bool loose = has_loose_accents(images);
  if (loose == has_loose_accents(masks)) return "";
  return fmt::format(
      ". In the names of the {} accents are characters of their own, as macOS writes them, in those of the {} they are not: "
      "rename one kind (convmv -f utf8 -t utf8 --nfc)",
      loose ? "images" : "masks", loose ? "masks" : "images");
}

bool holds_images(const fs::path& folder) {
  const std::vector<fs::path> files = files_below(folder);
  return std::any_of(files.begin(), files.end(), is_image_file);
}

void note_unread_files(const FolderFiles& files, const fs::path& folder, std::vector<std::string>& notes) {
  if (files.unread.empty()) return;
  size_t count = 0;
  for (const auto& [extension, number] : files.unread) count += number;
  notes.push_back(fmt::format("{} {} in {} are skipped, as their format is not read ({}); expected {}", count,
                              plural(static_cast<int64_t>(count), "file"), folder.string(), unread_text(files),
                              image_extensions()));
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
  return is_image_extension(extension_of(path.native()));
}

bool has_both(std::span<const fs::path> files) {
  FilesByStem images;
  for (const fs::path& file : files) {
    const std::string name = file.generic_string(), extension = extension_of(name);
    if (is_image_extension(extension)) images.emplace(name.substr(0, name.size() - extension.size()), name);
  }
  const auto annotation = std::find_if(files.begin(), files.end(), [&](const fs::path& file) {
    return is_annotation(file) && images.contains(fs::path(file).replace_extension().generic_string());
  });
  if (annotation != files.end() && looks_like_labelme(start_of_file(*annotation, kAnnotationStart))) return true;
  return !take_masks_out(images).empty();
}

void note_left_out(const PairFolders& folders, const FolderFiles& images, const FolderFiles& masks,
                   const std::set<std::string>& used, std::vector<std::string>& notes) {
  note_unread_files(images, folders.images, notes);
  note_unread_files(masks, folders.masks, notes);
  if (!folders.other_masks) note_lonely_masks(masks.read, used, images, folders.masks, notes);
}

MatchedPairs match_pairs(const PairFolders& folders) {
  MatchedPairs matched;
  FolderFiles images = files_by_stem(folders.images, folders.image_ending, "image");
  const bool one_folder = same_folder(folders.images, folders.masks);
  FolderFiles masks;
  if (one_folder) masks.read = take_masks_out(images.read);
  if (masks.read.empty() && !folders.masks.empty() && (one_folder || !holds_images(folders.masks)))
    masks.read = annotations_by_stem(folders.masks, images.read);
  if (masks.read.empty() && !one_folder && !folders.masks.empty())
    masks = files_by_stem(folders.masks, folders.mask_ending, "mask");

  std::set<std::string> used;
  for (const auto& [stem, image] : images.read) {
    const std::string mask = find_mask(stem, masks.read);
    if (!mask.empty()) used.insert(mask);
    matched.pairs.push_back({stem, image, mask.empty() ? std::string() : masks.read.at(mask)});
  }
  TSR_CHECK(!used.empty() || folders.masks.empty() || folders.other_masks,
            "no image in {} has a mask in {}: images are named {}; masks {}. A mask has its image's name, with any extension, "
            "and may end in {}{}",
            folders.images.string(), folders.masks.string(), first_names(images.read),
            masks.read.empty() ? "(none)" : first_names(masks.read),
            fmt::join(kMaskEndings.begin() + 1, kMaskEndings.end(), ", "), accents_text(images.read, masks.read));
  note_left_out(folders, images, masks, used, matched.notes);
  return matched;
}

}  // namespace tessera
