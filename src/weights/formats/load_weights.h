#pragma once
#include <filesystem>

#include "storage/blob.h"
#include "weights/formats/loaded_file.h"

namespace tessera {

// Reads a weight file of any known kind, told by its first bytes and never by its name: .pth/.pt/.ckpt (both formats),
// safetensors, an index of safetensors parts (or the folder it is in, or that of one safetensors file), .npz, .npy. Nothing in
// the file is executed. Throws Error that says what the file looks like if it is none of these.
LoadedFile read_weights(const std::filesystem::path& path);

// The same for a file in memory (an index of parts is read by its path only). `name` is for messages.
LoadedFile parse_weights(const Blob& file, const std::string& name);

}  // namespace tessera
