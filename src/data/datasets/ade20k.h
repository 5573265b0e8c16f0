#pragma once
#include "config/data_config.h"
#include "data/dataset.h"
#include "data/datasets/split.h"

namespace tessera {

// ADE20K as the scene parsing challenge ships it: data.path is ADEChallengeData2016 or the folder that holds it, train is
// images/training with annotations/training, val images/validation with annotations/validation, test images/testing (which the
// challenge keeps); data.<split>.images and .masks name other folders below it. 150 classes; mask value v is class v - 1 and 0
// is ignored.
DatasetPtr make_ade20k(const DataConfig& config, Split split);

}  // namespace tessera
