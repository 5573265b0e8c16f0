#pragma once
#include <span>
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
};

// Where the files of a split lie and what of their names is not the sample's.
struct PairFolders {
  fs::path images;
  fs::path masks;                 // empty: there are none, and no pair has one
  std::string image_ending = {};  // only images whose name ends so count, and stems go without it: "_leftImg8bit"
  std::string mask_ending = {};   // the same of masks: "_gtFine_labelIds"
  bool other_masks = false;       // the folder of masks holds those of other splits too: masks without an image are no surprise
};

struct MatchedPairs {
  std::vector<FilePair> pairs;     // sorted by stem
  std::vector<std::string> notes;  // on files that are left out, a sentence each
};

// All images below `images` with the masks below `masks` of the same stem, or the stem with a usual ending (_mask, _label,
// ...). The two folders may be one, if the endings tell masks from images. Images without a mask are kept (the source reports
// them one by one); masks without an image, and files of formats that are not read, become notes. Throws Error when a folder
// has no image files, when nothing matches at all (unless `other_masks`), and when two files claim one stem.
MatchedPairs match_pairs(const PairFolders& folders);

// Whether the name ends in one of the known image extensions (any case).
bool is_image_file(const fs::path& path);
std::string image_extensions();  // "jpg, png or tif"

// Whether the files are images and masks in one folder: a name of one is that of another with a mask's ending.
bool has_both(std::span<const fs::path> files);

}  // namespace tessera
