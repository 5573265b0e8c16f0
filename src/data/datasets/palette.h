#pragma once
#include <vector>

#include "core/image.h"

namespace tessera {

// `n` colours that are told apart easily, the same on every machine and for every n: colour k does not depend on n. The
// first is black, as class 0 is the background in most data sets. Up to 500 classes no colour comes twice.
std::vector<Color> default_palette(int n);

}  // namespace tessera
