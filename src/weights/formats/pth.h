#pragma once
#include "storage/blob.h"
#include "weights/formats/loaded_file.h"

namespace tessera {

// The tensors of a .pth, .pt or .ckpt file (what torch.save writes, now and before 1.6), read by a restricted unpickler that
// executes nothing (pickle.h). Views become contiguous tensors. Throws Error naming the file.
LoadedFile load_pth(const Blob& file, const std::string& name);

}  // namespace tessera
