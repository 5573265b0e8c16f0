#pragma once
#include "core/outlines.h"

namespace tessera {

// The outline with fewer corners: those are left out that lie within `tolerance` pixels of the line between those that stay
// (Douglas and Peucker). Where lines would touch or cross by that, less is left out, down to the outline as it is. Holes that
// are no larger than the tolerance vanish; the region itself does not. A tolerance of 0 changes nothing.
Outline simplified(const Outline& outline, double tolerance);

}  // namespace tessera
