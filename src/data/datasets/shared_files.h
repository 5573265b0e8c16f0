#pragma once
#include <string>
#include <vector>

#include "data/dataset.h"

namespace tessera {

// A sample of `val` whose image is also one of `train`.
struct SharedFile {
  std::string train, val;  // its name in each
  bool copied = false;     // another file of the same bytes
};

// One for each such sample of `val`. Files are the same by their paths, links of folders followed, or by their bytes: of files
// of equal size small parts are compared first, and all bytes only where those agree; of more than 200,000 training files the
// sizes of some are looked at. At most `max_files` files are opened, so
// that this is cheap enough for the start of every training; images that were encoded anew are found by shared_images of
// data/check/data_check.h, which reads all of them.
std::vector<SharedFile> shared_files(const Dataset& train, const Dataset& val, int64_t max_files = 4096);

}  // namespace tessera
