#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/files.h"
#include "data/datasets/pair_matching.h"
#include "data/datasets/split.h"

namespace tessera {

// Note [Layouts]
// A layout is what a config would say with data.<split>.images, .masks and .list, found by looking at a folder. The known ones
// are a table in layout.cpp, one function each; the first that recognises the folder is taken. Folders called after a split are
// that split, and test is never trained on:
//   cityscapes           leftImg8bit/train/CITY, gtFine/train/CITY
//   pascal_voc           JPEGImages, SegmentationClass, ImageSets/Segmentation/train.txt
//   images_then_splits   images/train, masks/train; without such subfolders all of images is one pool
//   splits_then_images   train/images, train/masks; or images and masks in train itself, told apart by their endings
//   folders_by_split     train, trainannot; imagesTr, labelsTr (nnU-Net)
//   one_folder           a.jpg, a_mask.png
// A val without masks cannot be measured on: it counts as missing. What is missing is made up for as Note [Splits of pairs]
// says.

// One split of a layout.
struct LayoutPart {
  fs::path images;   // empty: the split is a part of train's folders, or is missing
  fs::path masks;    // empty: there are none
  std::string list;  // file below the root with the samples' names; empty: all
};

struct Layout {
  fs::path root;
  LayoutPart train, val, test;
  std::string image_ending, mask_ending;  // as those of PairFolders
  bool other_masks = false;               // as that of PairFolders
  std::vector<std::string> apart;         // folders in train.images that belong to other splits
  std::vector<std::string> pooled;        // folders in train.images that tell no splits apart
  std::vector<std::string> notes;         // on folders that are left out, a sentence each

  LayoutPart& part(Split split) { return split == Split::kTrain ? train : split == Split::kVal ? val : test; }
  const LayoutPart& part(Split split) const { return const_cast<Layout*>(this)->part(split); }
};

// The layout of what lies below `root`; nothing where none of the known ones fits. Throws Error where one fits that cannot be
// read: two folders of one split, several channel files per case.
std::optional<Layout> find_layout(const fs::path& root);

}  // namespace tessera
