#pragma once
#include "weights/formats/pth_file.h"

namespace tessera {

// Lists what lies in the containers below `root`, with dotted keys. The tensors' storages are left empty. Containers that
// hold themselves, or unfold to far more than was written, are an Error.
PthFile walk_pickle(const PickleValue& root, const std::string& name);

}  // namespace tessera
