#pragma once
#include "data/decode/image_part.h"
#include "data/transforms/geometry_plan.h"

namespace tessera {

// The pixels of the original image that the planned result is computed from; empty where none of it is seen.
PixelArea needed_area(const GeometryPlan& plan);

// The planned result, from a part of the original that has at least those pixels. Equal to resize_image, take_window and the
// flips of the whole image bit for bit, but never makes more than a few rows of what lies between them.
Image planned_image(const GeometryPlan& plan, const ImagePart& part);

}  // namespace tessera
