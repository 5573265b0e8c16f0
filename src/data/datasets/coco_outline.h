#pragma once
#include <string_view>
#include <vector>

#include "data/datasets/rle.h"

namespace tessera {

// The pixels of one "segmentation" value, as JSON text: a list of polygons, or an object with the RLE "counts" (a list or a
// compressed string) and "size". Parts may overlap each other. Takes from the budget of the image. Throws Error saying what is
// wrong with it, or that too little of the budget is left.
std::vector<PixelRun> outline_runs(std::string_view json, Size image, OutlineBudget& budget);

}  // namespace tessera
