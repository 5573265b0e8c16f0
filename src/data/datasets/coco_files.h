#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/files.h"
#include "data/datasets/split.h"

namespace tessera {

// What a config for pairs has to be told to read a folder of COCO's.
inline constexpr std::array<const char*, 3> kCocoKeys = {"data.type=coco", "data.coco.classes=category", "data.classes=[]"};

// The files of one split of a data set in COCO's format.
struct CocoFiles {
  fs::path json;
  std::vector<fs::path> image_folders;  // where its images may lie, the likeliest first; none where no folder is there
};

// Finds them below `root` under their usual names, the first of: annotations/instances_train2017.json; a JSON file called after
// the split, as instances_train.json or train.json, in annotations/ or in `root`; _annotations.coco.json (Roboflow) or the only
// JSON file in a folder called after the split; annotations/panoptic_train2017.json and stuff_train2017.json. For train also:
// the only JSON file in annotations/ or `root`, if it looks like COCO's. Throws Error where two files are called after the
// split.
std::optional<CocoFiles> find_coco_files(const fs::path& root, Split split);

// The folders where the images of `json` may lie.
std::vector<fs::path> coco_image_folders(const fs::path& root, const fs::path& json, Split split);

}  // namespace tessera
