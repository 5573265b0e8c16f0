#pragma once
#include <cstdint>
#include <vector>

#include "core/image.h"
#include "metric/class_counts.h"

namespace tessera {

// Note [Boundary IoU]
// Boundary IoU (Cheng et al. 2021, "Boundary IoU: Improving Object-Centric Image Segmentation Evaluation", equation 2) is the
// IoU of what of two masks lies within a distance d of their own contour. As in the authors' code the distance is that of d
// erosions by 3 x 3 pixels, d a share of the image's diagonal (2 %), at least 1, and the border of the image is a contour too.
// d erosions by 3 x 3 are one by a square of 2d + 1, so a pixel is no boundary where that square lies in the image and is of
// one class: that is found for all classes at once, in a time that depends neither on their number nor on d. Over a data set
// intersections and unions are summed, then divided. Pixels without a label are taken out of both masks first.

// The width d of boundaries in an image of this size; halves round to the even number, as in Python.
int boundary_width(Size image, double ratio);

// Per pixel 1 where it lies within `width` of another class or of the border of the image, else 0.
std::vector<uint8_t> boundary_pixels(const LabelMap& map, int width);

// The pixels of boundaries, for each class. truth, predicted: of one size; the classes lie in 0 .. num_classes - 1, and
// where truth is kIgnoreLabel nothing counts.
std::vector<ClassCounts> count_boundaries(const LabelMap& truth, const LabelMap& predicted, int num_classes, double ratio);

}  // namespace tessera
