#pragma once
#include <cstdint>
#include <functional>
#include <span>

#include "storage/blob.h"

namespace tessera {

// `size` bytes that `fill` writes. They lie in a file without a name in the cache folder, so that the system can take their
// memory for something else while nobody reads them, and nothing stays of them however the process ends; in plain memory where
// there is no room or no such folder. Pages are taken when they are written. Throws what `fill` throws.
Blob make_scratch(size_t size, const std::function<void(std::span<uint8_t>)>& fill);

}  // namespace tessera
