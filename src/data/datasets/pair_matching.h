#pragma once
#include <map>
#include <set>
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
  // Of classes that overlap, each with a file of its own: one for each class and one of ignored pixels, empty where there is
  // none; see class_masks.h.
  std::vector<fs::path> class_masks = {};
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

using FilesByStem = std::map<std::string, fs::path>;

// The files of a folder that count, and those that look like pictures of a format that is not read.
struct FolderFiles {
  FilesByStem read;
  std::set<std::string> unread_stems;
  std::map<std::string, size_t> unread;  // extension -> files
};

// The files below `folder` whose stems end in `ending`, which is taken off. Throws Error where none is read and where two have
// one stem. `what` is for messages: "image".
FolderFiles files_by_stem(const fs::path& folder, const std::string& ending, std::string_view what);

// The stem of the mask for `stem`, which may have a usual ending, or "". Throws Error for two: guessing would train on the
// wrong one.
std::string find_mask(const std::string& stem, const FilesByStem& masks);

// "a.png, b.png, c.png, ..."
std::string first_names(const FilesByStem& files);

// Notes on what is left out of two folders whose masks of the stems `used` were taken.
void note_left_out(const PairFolders& folders, const FolderFiles& images, const FolderFiles& masks,
                   const std::set<std::string>& used, std::vector<std::string>& notes);

// Whether the name ends in one of the known image extensions (any case).
bool is_image_file(const fs::path& path);
std::string image_extensions();  // "jpg, png or tif"

// Whether a mask's file is no image but holds shapes to draw: Note [labelme].
bool is_annotation(const fs::path& mask);

// labelme's files below a folder, by their stems, if the first JSON file whose stem is one of `images` is one.
FilesByStem annotations_by_stem(const fs::path& folder, const FilesByStem& images);

// Whether the files are images and masks in one folder: a name of one is that of another with a mask's ending, or of labelme's
// file beside it.
bool has_both(std::span<const fs::path> files);

}  // namespace tessera
