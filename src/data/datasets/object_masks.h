#pragma once
#include <span>
#include <string>

#include "config/data_config.h"
#include "data/datasets/pair_list.h"
#include "data/decode/raster.h"

namespace tessera {

// The commonest masks of objects hold 0 and 255, and by rule 7 of Note [Label rules] 255 is "not labelled": with two classes
// the second would never be seen, and whoever predicts the first alone is always right. Looks at some of the masks, spread over
// all of them, and throws UsageError with the keys to set when they hold no value but 0 and that one. A data set that really
// leaves pixels unlabelled shows its second class in one of them, or says data.labels.ignore. Masks that cannot be read, or
// that have more than `max_pixels`, have no say.
void refuse_unmarked_objects(const PairList& pairs, const LabelConfig& rules, std::span<const std::string> classes,
                             uint64_t max_pixels = kMaxPixels);

}  // namespace tessera
