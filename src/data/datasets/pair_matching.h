#pragma once
#include <string>
#include <vector>

#include "core/files.h"

namespace tessera {

// An image file with its mask file; the stem is the image's path below its folder, without extension, '/' between parts.
struct FilePair {
  std::string stem;
  fs::path image;
  fs::path mask;  // empty: there is none
};

// All images below `images` with the masks below `masks` of the same stem, or the stem with a usual ending (_mask, _label,
// _seg, _segmentation, -mask), sorted by stem. The two folders may be one, if the endings tell masks from images. Images
// without a mask are kept (the source reports them one by one), masks without an image are only warned about. Throws Error when
// a folder has no image files, when nothing matches at all, and when two files claim one stem.
std::vector<FilePair> match_pairs(const fs::path& images, const fs::path& masks);

// Whether the name ends in one of the known image extensions (any case).
bool is_image_file(const fs::path& path);
std::string image_extensions();  // "jpg, png or tif"

}  // namespace tessera
