#pragma once
#include "storage/blob.h"
#include "weights/formats/loaded_file.h"

namespace tessera {

// One safetensors file, its tensors lying on the mapped file where they are aligned.
LoadedFile load_safetensors(const Blob& file, const std::string& name);

// A set of safetensors files by its index ("model.safetensors.index.json": {"weight_map": {tensor: file}}). Every tensor of
// the index must be in the file it names; the files lie beside the index. Throws Error.
LoadedFile load_sharded_safetensors(const std::filesystem::path& index);

}  // namespace tessera
