#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
// jpeglib.h needs the above.
#include <jpeglib.h>

#include <vector>

#include "core/image.h"

namespace tessera::testing {

struct JpegKind {
  int horizontal = 2, vertical = 2;  // how many pixels share a colour
  bool progressive = false;
  int restart_rows = 0;
  bool separate_scans = false;  // one for each component, as no encoder of today writes
  int quality = 85;
  bool optimized = false;  // with codes of its own rather than everybody's
};

// An 8-bit image of 1 or 3 channels as a JPEG file of that kind.
inline std::vector<uint8_t> encode_jpeg(const Image& image, const JpegKind& kind = {}) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &memory, &size);
  jpeg.image_width = static_cast<JDIMENSION>(image.width);
  jpeg.image_height = static_cast<JDIMENSION>(image.height);
  jpeg.input_components = image.channels;
  jpeg.in_color_space = image.channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, kind.quality, TRUE);
  if (image.channels == 3) {
    jpeg.comp_info[0].h_samp_factor = kind.horizontal;
    jpeg.comp_info[0].v_samp_factor = kind.vertical;
  }
  jpeg.optimize_coding = kind.optimized ? TRUE : FALSE;
  if (kind.progressive) jpeg_simple_progression(&jpeg);
  jpeg.restart_in_rows = kind.restart_rows;
  std::vector<jpeg_scan_info> scans;
  if (kind.separate_scans) {
    for (int c = 0; c < image.channels; ++c) {
      scans.push_back({.comps_in_scan = 1, .component_index = {c, 0, 0, 0}, .Ss = 0, .Se = 63, .Ah = 0, .Al = 0});
    }
    jpeg.scan_info = scans.data();
    jpeg.num_scans = image.channels;
  }
  jpeg_start_compress(&jpeg, TRUE);
  const size_t stride = static_cast<size_t>(image.width) * static_cast<size_t>(image.channels);
  while (jpeg.next_scanline < jpeg.image_height) {
    auto* row = const_cast<JSAMPROW>(image.bytes().data() + jpeg.next_scanline * stride);
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::vector<uint8_t> file(memory, memory + size);
  jpeg_destroy_compress(&jpeg);
  std::free(memory);
  return file;
}

}  // namespace tessera::testing
