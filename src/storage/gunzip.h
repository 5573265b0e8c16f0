#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera {

bool looks_like_gzip(std::span<const uint8_t> bytes);
bool looks_like_zlib(std::span<const uint8_t> bytes);

// The content of a file of GZIP streams, of which there may be several in a row, or of one ZLIB stream. `name` is for messages.
// Throws Error where it is damaged or cut, where its checksum does not match, and where it unpacks to more than twenty times
// its size and 64 MiB: images hardly shrink, the file was made to fill the memory.
std::vector<uint8_t> gunzip(std::span<const uint8_t> packed, const std::string& name);

}  // namespace tessera
