#pragma once
#include <filesystem>

#include "config/experiment.h"
#include "data/check/image_look.h"
#include "data/check/kept_look.h"
#include "data/dataset.h"
#include "dist/world.h"

namespace tessera {

// What a run learns of its training images when it begins, and keeps (see Note [Automatic normalisation]).
struct RunImages {
  NormalizeConfig normalize;  // never auto
  ImageFacts facts;           // not known of a run that goes on: its checkpoint has them
};

// A collective: the first rank looks at some samples, says what it decided and what is odd about them, and all take its answer.
// A run that goes on keeps what the config.yaml in its folder says. Throws UsageError, on all ranks, where no pixel is
// labelled. `kept` is what earlier runs saw of this data set; null: nothing.
RunImages images_of_run(const Experiment& experiment, const Dataset& train, const std::filesystem::path& folder, bool resume,
                        World& world, KeptLook* kept = nullptr);

}  // namespace tessera
