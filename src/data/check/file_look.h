#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

// What the bytes of an image file tell before they are decoded.
struct FileLook {
  std::string_view format;  // "PNG"; empty: none that is read
  std::string_view named;   // the format that the file's name says, where it is another: "JPEG"
  int orientation = 1;      // that its EXIF tag asks for, 1..8
  bool animated = false;    // several frames, of which a reader sees the first
  bool cmyk = false;        // a JPEG of four inks
};

// Never throws: what is damaged has no facts. The beginning of a file is enough for all but metadata that lies behind the
// pixels. name: where the bytes came from; without an extension that is known it says nothing.
FileLook look_at_file(std::span<const uint8_t> bytes, std::string_view name);

}  // namespace tessera
