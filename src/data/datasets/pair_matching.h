#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"

namespace tessera {

// An image file with its mask file; the stem is the image's path below its folder, without extension, '/' between parts.
struct FilePair {
  std::string stem;
  fs::path image;
  fs::path mask;  // empty: there is none
  // Of classes that overlap, each with a file of its own: one for each class and one of ignored pixels, empty where there is
  // none; see class_masks.h.
  std::vector<fs::path> class_masks = {};
};

// All images below `images` with the masks below `masks` of the same stem, or the stem with a usual ending (_mask, _label,
// _seg, _segmentation, -mask), sorted by stem. The two folders may be one, if the endings tell masks from images. Images
// without a mask are kept (the source reports them one by one), masks without an image are only warned about. Throws Error when
// a folder has no image files, when nothing matches at all, and when two files claim one stem.
std::vector<FilePair> match_pairs(const fs::path& images, const fs::path& masks);

// The image files below `folder` by their stems. Throws Error where there is none and where two have one stem.
using FilesByStem = std::map<std::string, fs::path>;
FilesByStem files_by_stem(const fs::path& folder, std::string_view what);

// The stem of the mask for `stem`, which may have a usual ending, or "". Throws Error for two: guessing would train on the
// wrong one.
std::string find_mask(const std::string& stem, const FilesByStem& masks);

// "a.png, b.png, c.png, ..."
std::string first_names(const FilesByStem& files);

void warn_about_lonely_masks(const FilesByStem& masks, const std::set<std::string>& used, const fs::path& folder);

// Whether the name ends in one of the known image extensions (any case).
bool is_image_file(const fs::path& path);

}  // namespace tessera
