#pragma once
#include "config/data_config.h"
#include "data/dataset.h"
#include "data/datasets/split.h"

namespace tessera {

// Note [Splits of pairs]
// Where neither data.train nor data.val names a folder or a list, folders and splits are found: Note [Layouts]. Else they are
// what the config says, and only folders it leaves out are looked for under their usual names.
// val has folders of its own (val.path or val.images): train and val are what their folders hold.
// val.list only: val is the listed part of train's folders; train is train.list, or without one all that val.list leaves.
// Two lists that share samples are an error.
// neither: val is val_share of train's samples (of train.list, if given), drawn by split_seed for each name, so the
// order of the file system and the other files have no part in it; train is the rest. val_share 0 gives an empty val.
// test is what its folders hold, or the listed part of train's folders, which train and val then go without; without either
// it is empty. It is never merged into another split. It alone may lack masks: its samples have no labels then.
// count then cuts each split to its first n.

// Folders of images and masks, matched by stem.
DatasetPtr make_pairs(const DataConfig& config, Split split);

// The folders of masks, of those splits that have one.
std::vector<std::filesystem::path> mask_folders(const DataConfig& config);

}  // namespace tessera
