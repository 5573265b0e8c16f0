#pragma once
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"

namespace tessera {

// Samples of `train` and `val` whose image is one file: the name in each, one pair per sample of `val`. By the files' paths,
// links of folders followed; none is opened, so this is cheap enough for the start of every training. Copies are found by
// shared_images of data/check/data_check.h, which reads them.
std::vector<std::pair<std::string, std::string>> shared_files(const Dataset& train, const Dataset& val);

}  // namespace tessera
