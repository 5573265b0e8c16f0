#pragma once
#include <string>
#include <vector>

namespace tessera {

// The distance of an axis's numbers: 1, 2 or 5 times a power of ten, such that `range` holds at most six of them.
double nice_step(double range);

// The multiples of nice_step(high - low) from low to high.
std::vector<double> nice_ticks(double low, double high);

// A number at an axis whose numbers lie `step` apart: with as many digits as tell them from one another.
std::string tick_text(double value, double step);

}  // namespace tessera
