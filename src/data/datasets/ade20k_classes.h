#pragma once
#include <string>
#include <vector>

#include "core/image.h"

namespace tessera {

// The 150 classes of the scene parsing challenge in the order of their label (class k is mask value k + 1), each by the
// first of its synonyms, and the colours the challenge draws them in.
std::vector<std::string> ade20k_names();
std::vector<Color> ade20k_palette();

}  // namespace tessera
