#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tessera {

// The bytes of a scan up to the end of the image, without the zeros that are stuffed behind 0xFF, and kBytesBehind zeros behind
// them, in the memory of `to`, which only grows. How many there are; nothing where the next marker is another one.
std::optional<size_t> copy_scan_bytes(std::span<const uint8_t> from, std::vector<uint8_t>& to);

}  // namespace tessera
