#pragma once
#include <filesystem>

#include "config/experiment.h"
#include "data/check/label_counts.h"
#include "dist/world.h"

namespace tessera {

// Puts numbers into the terms of `experiment.loss` whose class_weights are to be found in the data: Note [Class weights from
// the data]. A collective: the first rank has the labels of the training set counted, prints what it found, and all take its
// numbers. A run that goes on keeps those of the config.yaml in its folder.
void find_class_weights(Experiment& experiment, const Dataset& train, LabelCounts& labels, const std::filesystem::path& folder,
                        bool resume, World& world);

// The same without data: all classes alike. For measurements of speed.
void take_equal_weights(LossConfig& loss, int num_classes);

}  // namespace tessera
