#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

// "100GB", "1.5TB", "64MiB", "4096": units B, kB, MB, GB, TB of 1000 and KiB, MiB, GiB, TiB of 1024, in small or capital
// letters. Throws UsageError that begins with `what` ("data.remote.cache_limit") for anything else, and for less than one byte.
int64_t parse_byte_count(std::string_view text, std::string_view what);

}  // namespace tessera
