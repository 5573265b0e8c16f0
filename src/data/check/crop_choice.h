#pragma once
#include <string>

#include "data/check/data_fingerprint.h"

namespace tessera {

// How images are scaled before they are cut, and the crop: a part of Note [Automatic recipe].
struct CropChoice {
  int crop = 0;
  int base = 0;            // images are scaled to fit inside a square of this side; 0: left as they are
  double object_size = 0;  // as the crop shows them
  std::string crop_reason = {}, base_reason = {};

  // The largest share of one class in a crop that is taken at once: others show less than half of an object, and another place
  // is tried.
  double varied_share() const;
};

CropChoice choose_crop(const DataFingerprint& data, bool gpu);

}  // namespace tessera
