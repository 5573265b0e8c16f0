#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

// One frame of DICOM's run-length encoding as `pixels` values of `samples` samples of `bytes_per_value` bytes, little-endian
// and the samples of a pixel side by side. Throws Error when a segment ends early.
std::vector<uint8_t> unpack_dicom_rle(std::span<const uint8_t> frame, size_t pixels, size_t samples, size_t bytes_per_value);

}  // namespace tessera
