#pragma once
#include "tensor/device.h"

namespace tessera {

// See CudaPlugin::record.
std::unique_ptr<RecordedWork> record(int device, const std::function<void()>& work);

int64_t recorded_bytes();  // that recorded work keeps, on all devices of this process

}  // namespace tessera
