#pragma once
#include <exception>
#include <string>

namespace tessera {

// What an exception says, for people: without libtorch's C++ stack, and with words of ours where the library's say little.
std::string error_text(const std::exception& error);

}  // namespace tessera
