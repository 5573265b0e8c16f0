#pragma once
#include <vector>

#include "core/image.h"

namespace tessera {

// `n` colours that are told apart easily, the same on every machine and for every n: colour k does not depend on n. The
// first is black where class 0 is a background; where it is a class like the others, black is left out, as patches of it would
// pass for ignored pixels. Up to 500 classes no colour comes twice.
std::vector<Color> default_palette(int n, bool has_background = true);

}  // namespace tessera
