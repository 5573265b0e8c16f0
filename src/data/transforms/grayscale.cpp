#include "data/transforms/grayscale.h"

#include "data/decode/color.h"

namespace tessera {

void Grayscale::apply(Sample& sample, Rng rng) const {
  if (rng.chance(config_.probability) && sample.image.channels == 3) remove_colors(sample.image);
}

}  // namespace tessera
