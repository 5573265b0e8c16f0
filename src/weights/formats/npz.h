#pragma once
#include "storage/blob.h"
#include "weights/formats/loaded_file.h"

namespace tessera {

// A NumPy .npz (each entry under its name without ".npy") or a single .npy (under the name "array"). Throws Error.
LoadedFile load_npz(const Blob& file, const std::string& name);
LoadedFile load_npy(const Blob& file, const std::string& name);

// The content of an .npy file; `name` is for messages. bfloat16 and float8, which NumPy lacks, are refused. Throws Error.
std::vector<uint8_t> encode_npy(const at::Tensor& tensor, const std::string& name);

// An .npz with one stored entry per tensor, likewise.
std::vector<uint8_t> encode_npz(const NamedTensors& tensors);

}  // namespace tessera
