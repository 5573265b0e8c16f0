#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace tessera {

// Indices, ascending and at most `limit` (at least 8), of the points to draw: the first and the last, and of each stretch
// in between its lowest, its highest and, where there is one, a value that is not finite. No spike and no gap is lost.
// A series that is short enough is kept whole.
std::vector<size_t> decimate(std::span<const double> values, size_t limit);

// Weighted mean around each value, weights falling off on both sides so that the line does not lag behind; towards
// an end only the inner side counts. `window` is about the number of values that matter (1: the values themselves). Values
// that are not finite are passed over: NaN at their place, no effect on their neighbours.
std::vector<double> smooth(std::span<const double> values, double window);

}  // namespace tessera
