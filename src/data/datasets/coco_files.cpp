#include "data/datasets/coco_files.h"

#include <algorithm>
#include <array>
#include <fstream>

#include "core/error.h"
#include "data/datasets/folder_names.h"
#include "storage/file_tree.h"

namespace tessera {
namespace {

// The .json files in `folder`, sorted.
std::vector<fs::path> json_files(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const TreeEntry& entry : entries_in(folder)) {
    if (!entry.folder && lower(entry.name).ends_with(".json")) found.push_back(folder / entry.name);
  }
  return found;
}

constexpr std::string_view kPanoptic = "panoptic_", kStuff = "stuff_";

// "train2014" of instances_train2014.json, train.json, annotations_train.json, train_annotations.json or train_coco.json.
// `kind`: what is of no more meaning than these, for files of another kind.
std::string split_part(const fs::path& json, std::string_view kind = "") {
  std::string name = json.stem().string();
  for (const std::string_view beginning :
       {kind, std::string_view("instances_"), std::string_view("annotations_"), std::string_view("coco_")}) {
    if (lower(name).starts_with(beginning)) name.erase(0, beginning.size());
  }
  for (const std::string_view ending : {"_annotations", "_instances", "_coco"}) {
    if (lower(name).ends_with(ending)) name.resize(name.size() - ending.size());
  }
  return name;
}

fs::path file_of_split(const fs::path& folder, Split split, std::string_view kind = "") {
  fs::path found;
  for (const fs::path& json : json_files(folder)) {
    if (!lower(json.filename().string()).starts_with(kind) || split_named(split_part(json, kind)) != split) continue;
    TSR_CHECK(found.empty(),
              "{} has two annotation files that are called after the {} split: {} and {}; say which with data.{}.masks",
              folder.string(), name_of(split), found.filename().string(), json.filename().string(), name_of(split));
    found = json;
  }
  return found;
}

fs::path only_file(const fs::path& folder) {
  const std::vector<fs::path> files = json_files(folder);
  return files.size() == 1 ? files[0] : fs::path();
}

// A file of another kind (a project's settings, nnU-Net's dataset.json) has other keys first.
bool looks_like_coco(const fs::path& json) {
  const std::string text = start_of_file(json, 4096);
  const auto has = [&](const char* key) { return text.find(key) != std::string::npos; };
  return has("\"images\"") || has("\"categories\"") || has("\"annotations\"");
}

fs::path find_json(const fs::path& root, Split split) {
  const fs::path annotations = root / "annotations";
  const fs::path usual = annotations / fmt::format("instances_{}2017.json", name_of(split));
  if (is_plain_file(usual)) return usual;
  for (const fs::path& folder : {annotations, root}) {
    if (fs::path json = file_of_split(folder, split); !json.empty()) return json;
  }
  if (const fs::path folder = folder_of_split(root, split); !folder.empty()) {
    if (fs::path json = folder / "_annotations.coco.json"; is_plain_file(json)) return json;
    if (fs::path json = only_file(folder); !json.empty() && looks_like_coco(json)) return json;
  }
  for (const std::string_view kind : {kPanoptic, kStuff}) {
    if (fs::path json = file_of_split(annotations, split, kind); !json.empty()) return json;
  }
  if (split != Split::kTrain) return {};
  for (const fs::path& folder : {annotations, root}) {
    // Not where it is that of another split.
    if (fs::path json = only_file(folder); !json.empty() && !split_named(split_part(json)) && looks_like_coco(json))
      return json;
  }
  return {};
}

}  // namespace

std::vector<fs::path> coco_image_folders(const fs::path& root, const fs::path& json, Split split) {
  const fs::path images = folder_of_kind(root, FolderKind::kImages), beside = json.parent_path();
  std::vector<fs::path> folders;
  const auto add = [&](const fs::path& folder) {
    if (!folder.empty() && is_folder(folder)) folders.push_back(folder);
  };
  for (const std::string_view kind : {std::string_view(), kPanoptic, kStuff}) {
    add(root / split_part(json, kind));
    if (!images.empty()) add(images / split_part(json, kind));
  }
  add(folder_of_split(root, split));
  if (!images.empty()) add(folder_of_split(images, split));
  for (const char* inner : {"images", "data"}) add(beside / inner);
  if (beside != root / "annotations") add(beside);
  add(images);
  add(root);
  return folders;
}

std::optional<CocoFiles> find_coco_files(const fs::path& root, Split split) {
  if (root.empty()) return std::nullopt;
  fs::path json = find_json(root, split);
  if (json.empty()) return std::nullopt;
  std::vector<fs::path> folders = coco_image_folders(root, json, split);
  return CocoFiles{std::move(json), std::move(folders)};
}

}  // namespace tessera
