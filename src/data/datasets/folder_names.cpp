#include "data/datasets/folder_names.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>

#include "core/error.h"
#include "data/datasets/pair_matching.h"
#include "storage/file_tree.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 7> kImageNames = {"images", "imgs", "image", "img", "img_dir", "frames", "JPEGImages"};
constexpr std::array<std::string_view, 16> kMaskNames = {
    "masks",   "annotations", "labels",      "mask",         "label",         "gt",           "gts", "annot",
    "ann_dir", "annotation",  "groundtruth", "ground_truth", "segmentations", "segmentation", "seg", "SegmentationClass"};

constexpr std::array<std::string_view, 5> kTrainNames = {"train", "training", "trainset", "trainingset", "trn"};
constexpr std::array<std::string_view, 5> kValNames = {"val", "valid", "validation", "valset", "validationset"};
constexpr std::array<std::string_view, 4> kTestNames = {"test", "testing", "testset", "tst"};

std::string plain(std::string_view name) {
  std::string text = lower(name);
  std::erase_if(text, [](char c) { return c == '_' || c == '-' || c == ' '; });
  return text;
}

bool is_one_of(std::string_view text, std::span<const std::string_view> names) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) { return plain(name) == text; });
}

// Of a plain name.
std::optional<Split> split_of_plain(std::string_view text) {
  constexpr size_t kYear = 4;  // train2017
  const bool has_year =
      text.size() > kYear && std::all_of(text.end() - kYear, text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (has_year) text.remove_suffix(kYear);
  if (is_one_of(text, kTrainNames)) return Split::kTrain;
  if (is_one_of(text, kValNames)) return Split::kVal;
  if (is_one_of(text, kTestNames)) return Split::kTest;
  return std::nullopt;
}

// nnU-Net's, which are words only behind a kind: imagesTr.
std::optional<Split> split_of_ending(std::string_view text) {
  if (text == "tr") return Split::kTrain;
  if (text == "va") return Split::kVal;
  if (text == "ts") return Split::kTest;
  return split_of_plain(text);
}

FolderKind kind_of_plain(std::string_view text) {
  if (is_one_of(text, kImageNames)) return FolderKind::kImages;
  return is_one_of(text, kMaskNames) ? FolderKind::kMasks : FolderKind::kAny;
}

std::span<const std::string_view> names_of(FolderKind kind) {
  if (kind == FolderKind::kImages) return kImageNames;
  return kMaskNames;
}

bool holds_image_files(const fs::path& folder) {
  if (is_archived(folder)) {
    const std::vector<fs::path> files = files_below(folder);
    return std::any_of(files.begin(), files.end(), is_image_file);
  }
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, error), end;
       !error && entry != end; entry.increment(error)) {
    if (is_image_file(entry->path())) return true;
  }
  return false;
}

}  // namespace

FolderMeaning meaning_of(std::string_view name) {
  const std::string text = plain(name);
  if (const auto split = split_of_plain(text)) return {split, FolderKind::kAny};
  if (const FolderKind kind = kind_of_plain(text); kind != FolderKind::kAny) return {std::nullopt, kind};
  for (size_t cut = 1; cut < text.size(); ++cut) {
    const std::string_view first = std::string_view(text).substr(0, cut), second = std::string_view(text).substr(cut);
    if (const auto split = split_of_plain(first); split && kind_of_plain(second) != FolderKind::kAny)
      return {split, kind_of_plain(second)};
    if (const auto split = split_of_ending(second); split && kind_of_plain(first) != FolderKind::kAny)
      return {split, kind_of_plain(first)};
  }
  return {};
}

std::optional<Split> split_named(std::string_view name) {
  return split_of_plain(plain(name));
}

std::vector<std::string> folders_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const TreeEntry& entry : entries_in(folder)) {
    if (!entry.name.starts_with('.') && entry.folder) names.push_back(entry.name);
  }
  return names;
}

std::string folder_list(const fs::path& folder) {
  const std::vector<std::string> names = folders_in(folder);
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::vector<std::string> usual_names(FolderKind kind) {
  const auto names = names_of(kind);
  return {names.begin(), names.end()};
}

fs::path folder_of_kind(const fs::path& root, FolderKind kind) {
  const std::vector<std::string> there = folders_in(root);
  std::vector<std::string> found;
  for (const std::string_view name : names_of(kind)) {
    if (std::find(there.begin(), there.end(), name) != there.end()) found.emplace_back(name);
  }
  for (const std::string_view name : names_of(kind)) {
    for (const std::string& folder : there) {
      const bool is_new = std::find(found.begin(), found.end(), folder) == found.end();
      if (is_new && plain(folder) == plain(name)) found.push_back(folder);
    }
  }
  if (found.empty()) return {};
  if (found.size() == 1) return root / found[0];
  // annotations/ may hold JSON files, and labels/ beside it the masks.
  const auto best =
      std::find_if(found.begin(), found.end(), [&](const std::string& name) { return holds_image_files(root / name); });
  return root / (best == found.end() ? found[0] : *best);
}

fs::path folder_of_split(const fs::path& root, Split split) {
  std::string found;
  for (const std::string& name : folders_in(root)) {
    if (split_named(name) != split) continue;
    TSR_CHECK(found.empty(), "{} has two folders that are called after the {} split: {} and {}; say which with data.{}.images",
              root.string(), name_of(split), found, name, name_of(split));
    found = name;
  }
  return found.empty() ? fs::path() : root / found;
}

}  // namespace tessera
