#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/image.h"

namespace tessera {

// Ids are whole numbers, or words ("a.jpg"), as pycocotools takes both. A word gets a number of its own, far below those that
// anybody writes; "7" is 7.
inline constexpr int64_t kNoCocoId = std::numeric_limits<int64_t>::min();

struct CocoImage {
  int64_t id = kNoCocoId;
  std::string file_name;
  Size size;
  std::string fault;  // why it cannot be used; empty: it can
};

struct CocoCategory {
  int64_t id = kNoCocoId;
  std::string name;
  std::string supercategory;  // may be empty
};

// An instance without its outline: that stays in the file, at [offset, offset + length), until the sample is asked for.
// The outlines are nine tenths of the 450 MB of COCO 2017's training file.
// Of a panoptic file, all segments of an image: they are drawn in a PNG, and their list is what stays in the file.
struct CocoAnnotation {
  int64_t id = kNoCocoId;
  int64_t image_id = kNoCocoId;
  int64_t category_id = kNoCocoId;
  double area = -1;  // < 0: not given
  bool crowd = false;
  int64_t offset = 0;
  int64_t length = 0;      // 0: no segmentation
  int32_t mask_file = -1;  // panoptic: the PNG, a position in CocoFile::mask_files
  std::string fault;       // why its image cannot be used; empty: it can
};

struct CocoFile {
  std::vector<CocoImage> images;
  std::vector<CocoAnnotation> annotations;
  std::vector<CocoCategory> categories;  // in order of their id; words in the order of the file
  std::vector<std::string> mask_files;   // of a panoptic file
  std::vector<std::string> words;        // ids of images and categories that are no numbers
};

// An id as the file has it, for messages.
std::string coco_id_text(int64_t id, std::span<const std::string> words);

// Reads an instances or panoptic file as a stream. Throws Error, naming the file, for broken JSON (with the position), for a
// missing section, and for a category without the keys that place it. An image or annotation with something wrong is kept, and
// says what: one entry must not cost the others.
CocoFile read_coco_file(const fs::path& path);

}  // namespace tessera
