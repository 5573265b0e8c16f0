#pragma once
#include <cstddef>

namespace tessera {

// Brings a mapped file into the system's cache by reading it once, front to back, unless most of it is there or it is too
// large to stay. Touching the pages of an absent file instead reads as little at a time as the device's setting says (often
// 128 KiB) and waits for each piece, and looking at the headers of a ZIP file first breaks up the long reads between them:
// both took twice to four times as long.
void read_through(int file, const void* mapping, size_t size);

}  // namespace tessera
