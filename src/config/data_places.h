#pragma once
#include "config/experiment.h"

namespace tessera {

// data.path, data.train.path and data.val.path as they are meant here and now: relative ones become absolute, and so does a
// list of samples that lies in the working folder rather than with the data. A run keeps them so, and is evaluated from any
// folder. A place whose text holds a secret stays as it is written (Note [Secrets]).
void make_data_places_absolute(Experiment& experiment);

}  // namespace tessera
