#pragma once
#include <span>
#include <string>

#include "weights/formats/pickle_value.h"

namespace tessera {

// Reads a Python pickle (protocols 2 to 5, as torch.save and NumPy write them) without running anything: no module is
// imported and no function called. Tensors, storages, arrays and plain containers are understood (pickle_globals.cpp has the
// list); whatever else a pickle wants to make becomes an opaque value with the name of its class. Names that only an attack
// would ask for (os.system, builtins.eval, ...) are an Error, as is everything malformed. `name` is for messages.
Pickle parse_pickle(std::span<const uint8_t> bytes, const std::string& name);

}  // namespace tessera
