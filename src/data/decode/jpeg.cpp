#include "data/decode/jpeg.h"

#include <algorithm>

#include "data/decode/jpeg_reader.h"
#include "data/decode/orient.h"

namespace tessera {

Raster decode_jpeg(std::span<const uint8_t> bytes, bool exif_orientation, uint64_t max_pixels) {
  JpegReader jpeg(bytes, exif_orientation, max_pixels);
  Raster raster;
  raster.kind = jpeg.kind();
  jpeg_start_decompress(&*jpeg);
  raster.image = Image(static_cast<int>(jpeg->output_height), static_cast<int>(jpeg->output_width), jpeg->output_components);
  std::vector<uint8_t>& out = raster.image.bytes();
  const size_t stride = size_t{jpeg->output_width} * static_cast<size_t>(jpeg->output_components);
  while (jpeg->output_scanline < jpeg->output_height) {
    JSAMPROW row = out.data() + jpeg->output_scanline * stride;
    jpeg_read_scanlines(&*jpeg, &row, 1);
  }
  const int orientation = jpeg.orientation();
  jpeg_finish_decompress(&*jpeg);

  // Adobe's programs store CMYK inverted, and as good as every CMYK JPEG comes from them.
  if (raster.kind == ColorKind::kCmyk) {
    std::transform(out.begin(), out.end(), out.begin(), [](uint8_t v) { return static_cast<uint8_t>(255 - v); });
  }
  if (orientation != 1) raster.image = orient(raster.image, orientation);
  return raster;
}

}  // namespace tessera
