#pragma once
#include <string>
#include <string_view>

namespace tessera {

// Bytes nobody can guess, from the system. Throws Error where it has none.
std::string random_bytes(size_t count);

// HMAC-SHA256 (RFC 2104), 32 bytes: who does not know the key cannot make it, nor learn the key from it.
std::string hmac_sha256(std::string_view key, std::string_view text);

// Takes the same time wherever two texts of one length differ, so that nobody can guess a code byte by byte.
bool same_code(std::string_view one, std::string_view other);

std::string hex_of(std::string_view bytes);  // two small digits for each byte

}  // namespace tessera
