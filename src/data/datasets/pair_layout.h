#pragma once
#include "data/datasets/layout.h"

namespace tessera {

// The layout by which `split` is read: what the config names, else what is found (Note [Splits of pairs]). Where the config
// names folders only those that `split` needs are looked for, so that a model can be measured where its training data is not.
// Throws UsageError without data.path, Error where a folder is not there.
Layout layout_of(const DataConfig& config, Split split);

}  // namespace tessera
