#include "data/datasets/pair_layout.h"

#include <fmt/ranges.h>

#include "core/error.h"
#include "data/datasets/folder_names.h"
#include "data/fetch/fetch_data.h"
#include "storage/file_tree.h"

namespace tessera {
namespace {

bool names_folders(const SplitConfig& split) {
  return !split.images.empty() || !split.path.empty();
}

fs::path existing_root(const DataConfig& config, const SplitConfig& split) {
  const fs::path root = root_of(config, split);
  TSR_CHECK_USAGE(!root.empty(), "data.path is not set: give the folder that holds the images and masks");
  TSR_CHECK(is_folder(root), "data.path: no such folder: {}{}", root.string(), fetch_hint(root));
  return root;
}

// The folder that the config gives, or the one of the usual name; empty where there is neither.
fs::path named_folder(const fs::path& root, const std::string& given, FolderKind kind, const std::string& key) {
  if (given.empty()) return folder_of_kind(root, kind);
  TSR_CHECK(is_folder(root / given), "{}: no such folder: {}; folders in {}: {}", key, (root / given).string(), root.string(),
            folder_list(root));
  return root / given;
}

[[noreturn]] void fail_without(FolderKind kind, const fs::path& root, const std::string& key) {
  // An archive often has one folder more than was thought.
  std::string nested;
  for (const std::string& name : folders_in(root)) {
    if (!folder_of_kind(root / name, FolderKind::kImages).empty() && !folder_of_kind(root / name, FolderKind::kMasks).empty())
      nested = fmt::format("; did you mean data.path={}?", (root / name).string());
  }
  fail("set {}: none of the usual folders ({}) is in {}; folders there: {}{}", key, fmt::join(usual_names(kind), ", "),
       root.string(), folder_list(root), nested);
}

LayoutPart named_part(const DataConfig& config, Split which) {
  const SplitConfig& split = split_of(config, which);
  const fs::path root = existing_root(config, split);
  const std::string key = fmt::format("data.{}.", name_of(which));
  LayoutPart part;
  part.list = split.list;
  part.images = named_folder(root, split.images, FolderKind::kImages, key + "images");
  if (part.images.empty()) fail_without(FolderKind::kImages, root, key + "images");
  part.masks = named_folder(root, split.masks, FolderKind::kMasks, key + "masks");
  if (part.masks.empty() && which != Split::kTest) fail_without(FolderKind::kMasks, root, key + "masks");
  return part;
}

}  // namespace

Layout layout_of(const DataConfig& config, Split split) {
  Layout layout;
  const bool own_folders = split != Split::kTrain && names_folders(split_of(config, split));
  if (own_folders) {
    layout.root = existing_root(config, split_of(config, split));
    layout.part(split) = named_part(config, split);
    return layout;
  }
  if (names_files(config.train) || names_files(config.val)) {
    layout.root = root_of(config, config.train);
    layout.train = named_part(config, Split::kTrain);
    if (names_folders(config.val)) layout.val = {root_of(config, config.val), "", ""};
    layout.val.list = config.val.list;
  } else {
    const fs::path root = existing_root(config, config.train);
    std::optional<Layout> found = find_layout(root);
    if (!found) {
      const bool no_images = folder_of_kind(root, FolderKind::kImages).empty();
      fail_without(no_images ? FolderKind::kImages : FolderKind::kMasks, root,
                   no_images ? "data.train.images" : "data.train.masks");
    }
    layout = *std::move(found);
  }
  if (names_folders(config.test)) {
    layout.test = {root_of(config, config.test), "", ""};
  } else if (!config.test.list.empty()) {
    layout.test = {"", "", config.test.list};
  }
  return layout;
}

}  // namespace tessera
