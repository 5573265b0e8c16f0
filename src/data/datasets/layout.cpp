#include "data/datasets/layout.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "data/datasets/folder_names.h"
#include "data/datasets/public_layouts.h"
#include "storage/file_tree.h"

namespace tessera {
namespace {

constexpr std::array kSplits = {Split::kTrain, Split::kVal, Split::kTest};

bool has_files_in(const fs::path& folder) {
  const std::vector<TreeEntry> entries = entries_in(folder);
  return std::any_of(entries.begin(), entries.end(), [](const TreeEntry& entry) { return is_image_file(entry.name); });
}

// Folders of images beside those of the splits are nobody's: to train on them would be a guess.
void note_left_out(const fs::path& images, const std::vector<std::string>& others, Layout& layout) {
  for (const std::string& name : others) {
    layout.notes.push_back(
        fmt::format("{} is left out: it is called after no split; data.train.images and data.train.masks name "
                    "the folders to train on",
                    (images / name).string()));
  }
  if (has_files_in(images))
    layout.notes.push_back(
        fmt::format("the images in {} itself are left out, as folders in it are called after splits", images.string()));
}

std::optional<Layout> images_then_splits(const fs::path& root) {
  const fs::path images = folder_of_kind(root, FolderKind::kImages), masks = folder_of_kind(root, FolderKind::kMasks);
  if (images.empty() || masks.empty()) return std::nullopt;
  Layout layout;
  std::vector<std::string> others;
  for (const std::string& name : folders_in(images)) {
    if (!split_named(name)) others.push_back(name);
  }
  bool any_masks = false;
  for (const Split split : kSplits) {
    layout.part(split) = {folder_of_split(images, split), folder_of_split(masks, split), ""};
    any_masks = any_masks || !layout.part(split).masks.empty();
  }
  if (layout.val.images.empty() && layout.test.images.empty()) {
    // Also where all lie in a folder "train": samples keep the names by which they were drawn for val before.
    layout.train = {images, masks, ""};
    layout.pooled = folders_in(images);
    return layout;
  }
  if (!any_masks) {
    layout.other_masks = true;
    for (const Split split : kSplits) {
      if (!layout.part(split).images.empty()) layout.part(split).masks = masks;
    }
  }
  if (!layout.train.images.empty()) {
    note_left_out(images, others, layout);
  } else if (!others.empty() || has_files_in(images)) {
    layout.train = {images, masks, ""};
    layout.other_masks = true;
    for (const Split split : {Split::kVal, Split::kTest}) {
      if (const fs::path& folder = layout.part(split).images; !folder.empty())
        layout.apart.push_back(folder.filename().string());
    }
  }
  return layout;
}

// The images and masks of one split's folder.
LayoutPart inside(const fs::path& folder) {
  if (folder.empty()) return {};
  const fs::path images = folder_of_kind(folder, FolderKind::kImages);
  if (!images.empty()) return {images, folder_of_kind(folder, FolderKind::kMasks), ""};
  const std::vector<fs::path> files = files_below(folder);
  if (has_both(files)) return {folder, folder, ""};
  return std::any_of(files.begin(), files.end(), is_image_file) ? LayoutPart{folder, "", ""} : LayoutPart{};
}

std::optional<Layout> splits_then_images(const fs::path& root) {
  Layout layout;
  for (const Split split : kSplits) layout.part(split) = inside(folder_of_split(root, split));
  const bool any_masks = std::any_of(kSplits.begin(), kSplits.end(), [&](Split s) { return !layout.part(s).masks.empty(); });
  return any_masks ? std::optional(layout) : std::nullopt;
}

std::optional<Layout> folders_by_split(const fs::path& root) {
  Layout layout;
  for (const std::string& name : folders_in(root)) {
    const FolderMeaning meaning = meaning_of(name);
    if (!meaning.split) continue;
    LayoutPart& part = layout.part(*meaning.split);
    fs::path& place = meaning.kind == FolderKind::kMasks ? part.masks : part.images;
    TSR_CHECK(place.empty(),
              "{} has two folders for the {} of the {} split: {} and {}; say which with data.{}.images and .masks",
              root.string(), meaning.kind == FolderKind::kMasks ? "masks" : "images", name_of(*meaning.split),
              place.filename().string(), name, name_of(*meaning.split));
    place = root / name;
  }
  const bool any_pair = std::any_of(kSplits.begin(), kSplits.end(),
                                    [&](Split s) { return !layout.part(s).images.empty() && !layout.part(s).masks.empty(); });
  if (!any_pair) return std::nullopt;
  if (lower(layout.train.images.filename().string()) == "imagestr") layout.image_ending = channel_ending(layout.train.images);
  return layout;
}

std::optional<Layout> one_folder(const fs::path& root) {
  if (!has_both(files_below(root))) return std::nullopt;
  Layout layout;
  layout.train = {root, root, ""};
  return layout;
}

}  // namespace

std::optional<Layout> find_layout(const fs::path& root) {
  using Finder = std::optional<Layout> (*)(const fs::path& root);
  constexpr std::array<Finder, 6> kFinders = {cityscapes,         pascal_voc,       images_then_splits,
                                              splits_then_images, folders_by_split, one_folder};
  for (const Finder find : kFinders) {
    std::optional<Layout> layout = find(root);
    if (!layout) continue;
    layout->root = root;
    LayoutPart& val = layout->val;
    if (!val.images.empty() && val.masks.empty()) {
      layout->notes.push_back(
          fmt::format("{} has no masks and is left out: nothing can be measured on it", val.images.string()));
      val = {};
    }
    return layout;
  }
  return std::nullopt;
}

}  // namespace tessera
