#pragma once
#include <string>
#include <vector>

#include "config/data_config.h"
#include "data/datasets/pair_matching.h"
#include "data/decode/decode.h"
#include "data/sample.h"

namespace tessera {

// Note [Masks of classes]
// With data.labels.multi the image `day/a.jpg` has, below the folder of masks and with any extension of an image,
//   a file for each class:  cell/day/a.png  day/cell/a.png  day/a_cell.png  day/a-cell.png  day/a/cell.png
//                           (those in a folder named after the class may have a mask's usual ending, as a_mask.png), and
//                           perhaps one named ignore or void in place of a class, which marks pixels that count nowhere;
//   or one file for all:    day/a.png, day/a_mask.png, ...: a channel (or page) for each class, see class_channels.h.
// In a mask of one class 0 is off and everything else on.

// All images with their masks, as match_pairs does it for masks of all classes. Throws Error when nothing matches at all, and
// for two masks of one class, or one for all beside those of classes.
MatchedPairs match_class_masks(const PairFolders& folders, const std::vector<std::string>& classes);

// The labels of a sample whose image is loaded: Note [Multi-label maps]. Throws BadSample.
LabelMap load_class_masks(const Sample& sample, const FilePair& pair, const LabelConfig& rules,
                          const std::vector<std::string>& classes, const DecodeOptions& options);

}  // namespace tessera
