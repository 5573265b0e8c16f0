#pragma once
#include <cstdint>
#include <string>

namespace tessera {

// "200GB", "1.5 TB", "512MiB", "4096": a number of bytes above 0. Throws UsageError that names `key`.
uint64_t parse_byte_size(const std::string& text, const std::string& key);

}  // namespace tessera
