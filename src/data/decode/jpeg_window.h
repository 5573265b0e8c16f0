#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>
// jpeglib.h needs the above.
#include <jpeglib.h>

#include "core/pixel_area.h"

namespace tessera {

// Note [Own decoder of JPEGs]
// Most of the time that loading takes is Huffman codes of JPEGs. So the commonest kind of files is decoded here: one scan, 8
// bits, Huffman codes, no restart markers, grey or YCbCr with colours at full resolution, at half the width, or at half of
// both. libjpeg reads the header. Of blocks outside of the window only the codes are read. A file that is not wholly as
// encoders write them, from the tables to the marker behind the last bit, is libjpeg's to decode or to complain of.

// Puts the pixels of `area`, which is not empty, into `pixels`, row after row: grey or RGB, as was chosen for the image whose
// header was read. False where the file is another one than those, or the processor lacks AVX2; jpeg is as before either way.
bool decode_jpeg_window(const jpeg_decompress_struct& jpeg, const PixelArea& area, std::vector<uint8_t>& pixels);

}  // namespace tessera
