#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// Hashes by the names that Python's hashlib and xxhash give them: sha1, md5, sha256, blake2b, sha3_256, xxh64, xxh3_128, ...
std::vector<std::string> hash_names();
bool is_hash_name(std::string_view name);

// In hex, of one of these names.
std::string content_hash(std::string_view name, std::span<const uint8_t> bytes);

// Throws Error that begins with `what` where the bytes have another hash than one of `expected` (by name, in hex) says. Of
// names that are not known nothing is said.
void check_hashes(std::string_view what, std::span<const uint8_t> bytes, const std::map<std::string, std::string>& expected);

}  // namespace tessera
