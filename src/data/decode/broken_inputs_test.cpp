// Files as they go wrong in real data sets. Each case is made from a valid file, and its message must say what happened.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <ostream>

#include "core/error.h"
#include "data/decode/decode.h"
#include "support/handmade_files.h"
#include "support/messages.h"
#include "support/pillow.h"

namespace tessera {
namespace {

using namespace testing;

struct Broken {
  const char* name;
  std::function<Bytes()> make;
  const char* message;  // must be part of the error
  int channels = 3;
};
void PrintTo(const Broken& broken, std::ostream* out) {
  *out << broken.name;
}

Bytes text(std::string_view content) {
  return {content.begin(), content.end()};
}
Bytes cut(Bytes file, size_t size) {
  file.resize(size);
  return file;
}
Bytes without_last(Bytes file, size_t count) {
  file.resize(file.size() - count);
  return file;
}
Bytes changed(Bytes file, size_t at, uint8_t value) {
  file.at(at) = value;
  return file;
}
size_t find(const Bytes& file, const Bytes& part) {
  const auto found = std::search(file.begin(), file.end(), part.begin(), part.end());
  EXPECT_NE(found, file.end());
  return static_cast<size_t>(found - file.begin());
}

// Baseline SOF0: marker, length, precision, then height and width.
Bytes jpeg_sized(uint8_t high, uint8_t low) {
  Bytes file = pillow_image("jpeg_420");
  const size_t at = find(file, {0xFF, 0xC0}) + 5;
  for (const size_t i : {at, at + 2}) file[i] = high, file[i + 1] = low;
  return file;
}
Bytes jpeg_marker_changed(uint8_t marker, size_t offset, uint8_t value) {
  Bytes file = pillow_image("jpeg_420");
  return changed(file, find(file, {0xFF, marker}) + offset, value);
}
// Three components in the header, but the scan of the first again and again.
Bytes jpeg_of_many_scans() {
  Bytes file = pillow_image("jpeg_l");
  const auto frame = file.begin() + static_cast<std::ptrdiff_t>(find(file, {0xFF, 0xC0}));
  frame[3] = 17;  // length
  frame[9] = 3;   // components
  const Bytes more = {2, 0x11, 0, 3, 0x11, 0};
  file.insert(frame + 13, more.begin(), more.end());
  const size_t start = find(file, {0xFF, 0xDA});
  const Bytes scan(file.begin() + static_cast<std::ptrdiff_t>(start), file.end() - 2);
  Bytes out = cut(file, start);
  for (int i = 0; i < 600; ++i) append(out, scan);
  append(out, {0xFF, 0xD9});
  return out;
}

// The segment SIZ of a JPEG 2000: a 32-bit number at `offset` behind its marker.
Bytes jpeg2000_sized(size_t offset, uint32_t value) {
  Bytes file = formats_file("pillow", "j2k_rgb");
  const Bytes number = big_endian(value);
  std::copy(number.begin(), number.end(), file.begin() + static_cast<std::ptrdiff_t>(4 + offset));
  return file;
}

Bytes png_with(const Bytes& header) {
  return handmade_png(header, {0, 1, 2});
}
Bytes bad_crc(const char* chunk) {
  Bytes file = pillow_image("png_rgb");
  const std::string name = chunk;
  const size_t at = find(file, Bytes(name.begin(), name.end()));
  const size_t length = size_t{file[at - 2]} << 8 | file[at - 1];
  file[at + 4 + length] ^= 0x10;
  return file;
}
Bytes png_with_stream(const Bytes& stream) {
  Bytes file = png_signature();
  append(file, png_header(2, 1, 8, 0));
  append(file, png_chunk("IDAT", stream));
  append(file, png_chunk("IEND", {}));
  return file;
}

Bytes tiff_with(uint16_t tag, uint32_t value) {
  HandmadeTiff tiff = grey_tiff(2, 2, 8, {{1, 2, 3, 4}});
  tiff.set(tag, {value});
  return tiff.file();
}
Bytes tiff_with_strip_at(uint32_t offset) {
  HandmadeTiff tiff = grey_tiff(2, 2, 8, {});
  tiff.set(273, {offset});
  tiff.set(279, {4});
  return tiff.file();
}
Bytes tiff_next(uint32_t next) {
  HandmadeTiff tiff = grey_tiff(2, 2, 8, {{1, 2, 3, 4}});
  tiff.next_directory = next;
  return tiff.file();
}
Bytes tiff_tiles(uint32_t width, uint32_t height) {
  HandmadeTiff tiff = grey_tiff(2, 2, 8, {{1, 2, 3, 4}});
  tiff.tags.pop_back();
  tiff.set(322, {width});
  tiff.set(323, {height});
  tiff.tiled = true;
  return tiff.file();
}

const Broken kBroken[] = {
    // Not an image at all.
    {"empty", [] { return Bytes{}; }, "the file is empty (0 bytes)"},
    {"one_byte", [] { return Bytes{0xFF}; }, "starts with FF ('.')"},
    {"text", [] { return text("hello, world\n"); }, "starts with 68 65 6C 6C ('hell')"},
    {"web_page", [] { return text("<html><body>404</body></html>"); }, "3C 68 74 6D ('<htm'); is it a web page?"},
    {"server_answer", [] { return text("{\"error\": 403}"); }, "JSON answer"},
    {"lfs_pointer", [] { return text("version https://git-lfs.github.com/spec/v1\n"); }, "git lfs pull"},
    {"gif", [] { return text("GIF89a......"); }, "it is a GIF: convert it to PNG"},
    {"heic",
     [] {
       return text(
           std::string_view("\0\0\0\x18"
                            "ftypheic....",
                            16));
     },
     "HEIC or AVIF"},
    {"zeros", [] { return Bytes(100, 0); }, "starts with 00 00 00 00"},

    // JPEG.
    {"jpeg_only_start",
     [] {
       return Bytes{0xFF, 0xD8};
     },
     "JPEG is truncated: the file ends inside its header"},
    {"jpeg_cut_in_header", [] { return cut(pillow_image("jpeg_420"), 40); },
     "JPEG is truncated: the file ends inside its header"},
    {"jpeg_cut_in_middle", [] { return without_last(pillow_image("jpeg_420"), 200); }, "JPEG is truncated: 0 of 17 rows"},
    {"jpeg_without_end_marker", [] { return without_last(pillow_image("jpeg_l"), 2); }, "JPEG is truncated: 16 of 17 rows"},
    {"jpeg_last_byte", [] { return without_last(pillow_image("jpeg_l"), 1); }, "JPEG is truncated: 16 of 17 rows"},
    {"jpeg_progressive_cut", [] { return without_last(pillow_image("jpeg_progressive"), 100); }, "progressive image"},
    {"jpeg_giant", [] { return jpeg_sized(0xFF, 0xDC); }, "65500 x 65500 pixels, more than the 2^30 limit"},
    {"jpeg_large_but_short", [] { return jpeg_sized(0x50, 0x00); }, "20480 x 20480 pixels, which"},
    {"jpeg_zero_size", [] { return jpeg_sized(0, 0); }, "JPEG cannot be decoded: "},
    {"jpeg_12_bit", [] { return jpeg_marker_changed(0xC0, 4, 12); }, "precision 12"},
    {"jpeg_bad_huffman_table", [] { return jpeg_marker_changed(0xC4, 5, 0xFF); }, "JPEG cannot be decoded: "},
    {"jpeg_damaged_scan",
     [] {
       Bytes file = pillow_image("jpeg_420");
       const size_t scan = find(file, {0xFF, 0xDA});
       for (size_t i = scan + 40; i < scan + 60; ++i) file[i] = 0x00;
       return file;
     },
     "JPEG is corrupt: "},
    {"jpeg_missing_restart_marker",
     [] {
       Bytes file = pillow_image("jpeg_restart");
       const size_t marker = find(file, {0xFF, 0xD0});
       file.erase(file.begin() + static_cast<std::ptrdiff_t>(marker), file.begin() + static_cast<std::ptrdiff_t>(marker) + 2);
       return file;
     },
     "JPEG is corrupt: "},
    // Pillow gives other pixels than were stored for these; those it reads unharmed are in its fixture.
    {"jpeg_scan_without_its_end",
     [] {
       Bytes file = pillow_image("jpeg_420");
       file.erase(file.end() - 42, file.end() - 2);
       return file;
     },
     "JPEG is corrupt: "},
    {"jpeg_endless_scans", jpeg_of_many_scans, "more than 500 scans"},

    // PNG.
    {"png_only_signature", [] { return cut(pillow_image("png_rgb"), 8); },
     "PNG is truncated: its 8 bytes end in or after the signature"},
    {"png_half_signature", [] { return cut(pillow_image("png_rgb"), 5); }, "PNG is truncated"},
    {"png_damaged_signature", [] { return changed(pillow_image("png_rgb"), 5, 0); }, "PNG is corrupt"},
    {"png_cut_in_header", [] { return cut(pillow_image("png_rgb"), 20); }, "end in or after the IHDR chunk"},
    {"png_cut_in_pixels", [] { return without_last(pillow_image("png_rgb"), 100); },
     "end in or after the IDAT chunk, before IEND"},
    {"png_without_end", [] { return without_last(pillow_image("png_rgb"), 12); }, "PNG is truncated"},
    {"png_last_byte", [] { return without_last(pillow_image("png_rgb"), 1); }, "PNG is truncated"},
    {"png_giant", [] { return png_with(png_header(100000, 100000, 8, 0)); },
     "PNG says 100000 x 100000 pixels, more than the 2^30 limit"},
    {"png_giant_bytes", [] { return png_with(png_header(32768, 32768, 16, 6)); }, "more than the limit of 4 GiB"},
    {"png_large_but_short", [] { return png_with(png_header(20000, 20000, 8, 2)); }, "20000 x 20000 pixels, which"},
    {"png_zero_width", [] { return png_with(png_header(0, 5, 8, 0)); }, "width or height of 0"},
    {"png_beyond_31_bits", [] { return png_with(png_header(0xFFFFFFFF, 5, 8, 0)); }, "width or height of 0 or above 2^31"},
    {"png_bad_depth", [] { return png_with(png_header(2, 1, 3, 0)); }, "bit depth"},
    {"png_bad_color_type", [] { return png_with(png_header(2, 1, 8, 5)); }, "color type"},
    {"png_bad_header_crc", [] { return bad_crc("IHDR"); }, "a checksum in the header does not match (CRC)"},
    {"png_bad_pixel_crc", [] { return bad_crc("IDAT"); }, "does not match (CRC)"},
    {"png_bad_zlib_header",
     [] {
       return png_with_stream({0x12, 0x34, 0x56, 0x78, 0x9A});
     },
     "PNG is corrupt: "},
    {"png_bad_zlib_block",
     [] {
       return png_with_stream({0x78, 0x01, 0x07, 0xFF, 0xFF, 0xFF});
     },
     "PNG is corrupt: "},
    {"png_too_few_rows",
     [] {
       return handmade_png(png_header(2, 9, 8, 0), {0, 1, 2});
     },
     "PNG is "},
    {"png_bad_filter",
     [] {
       return handmade_png(png_header(2, 1, 8, 0), {9, 1, 2});
     },
     "PNG is corrupt: "},
    {"png_no_palette",
     [] {
       return handmade_png(png_header(2, 1, 8, 3), {0, 0, 0});
     },
     "PNG is corrupt: "},
    {"png_bad_palette_index",
     [] {
       return handmade_png(png_header(2, 1, 8, 3), {0, 0, 7}, png_chunk("PLTE", {1, 2, 3, 4, 5, 6}));
     },
     "palette index 7, the palette has 2 colours"},

    // TIFF.
    {"tiff_only_magic", [] { return cut(pillow_image("tiff_l"), 4); }, "TIFF cannot be read: "},
    {"tiff_cut_in_directory", [] { return cut(pillow_image("tiff_l"), 30); }, "TIFF "},
    {"tiff_directory_beyond_end", [] { return changed(pillow_image("tiff_l"), 6, 0x7F); }, "TIFF cannot be read: "},
    {"tiff_cut_in_pixels", [] { return without_last(pillow_image("tiff_l"), 100); }, "TIFF is truncated or corrupt at row"},
    {"tiff_lzw_cut", [] { return without_last(pillow_image("tiff_rgb_lzw"), 100); }, "TIFF "},
    {"tiff_giant", [] { return tiff_with(256, 0x7FFFFFFF); }, "more than the 2^30 limit"},
    {"tiff_large_but_short", [] { return tiff_with(256, 100000000); }, "which a file of"},
    {"tiff_zero_width", [] { return tiff_with(256, 0); }, "TIFF cannot be read: "},
    {"tiff_absurd_samples", [] { return tiff_with(277, 60000); }, "60000 samples per pixel: expected 1 to 256"},
    {"tiff_12_bit", [] { return tiff_with(258, 12); }, "TIFF has 12-bit values"},
    {"tiff_half_float",
     [] {
       HandmadeTiff tiff = grey_tiff(2, 1, 16, {{0, 0, 0, 0}});
       tiff.set(339, {3});
       return tiff.file();
     },
     "TIFF has 16-bit values of sample format 3"},
    {"tiff_lab_colour", [] { return tiff_with(262, 8); }, "photometric interpretation 8"},
    {"tiff_unknown_compression", [] { return tiff_with(259, 12345); }, "TIFF "},
    {"tiff_strip_beyond_end", [] { return tiff_with_strip_at(1000000); }, "TIFF is truncated or corrupt at row 0 of 2"},
    {"tiff_no_strips", [] { return grey_tiff(2, 2, 8, {}).file(); }, "TIFF "},
    {"tiff_directory_loop", [] { return tiff_next(12); }, "TIFF has a damaged directory after page 1"},
    {"tiff_next_beyond_end", [] { return tiff_next(0x00FFFFFF); }, "TIFF has a damaged directory after page 1"},
    {"tiff_giant_tiles", [] { return tiff_tiles(1 << 20, 1 << 20); }, "TIFF "},

    // BMP, WebP, JPEG 2000, NumPy and DICOM.
    {"bmp_only_magic", [] { return text("BM"); }, "BMP is truncated or damaged"},
    {"bmp_cut_in_pixels", [] { return without_last(formats_file("pillow", "bmp_rgb"), 1); }, "BMP is truncated: it says 9 x 6"},
    {"bmp_giant", [] { return changed(formats_file("pillow", "bmp_rgb"), 21, 0x7F); }, "more than the 2^30 limit"},
    {"webp_only_magic", [] { return text("RIFF....WEBP"); }, "WebP is "},
    {"webp_cut_in_pixels", [] { return without_last(formats_file("pillow", "webp_lossless"), 40); }, "WebP is truncated"},
    {"webp_lossy_cut", [] { return without_last(formats_file("pillow", "webp_lossy"), 20); }, "WebP is truncated"},
    {"riff_that_is_sound", [] { return text("RIFF....WAVEfmt "); }, "not an image: expected JPEG"},
    {"jp2_cut_in_boxes", [] { return cut(formats_file("pillow", "jp2_rgb"), 40); }, "JPEG 2000 is truncated"},
    {"jp2_cut_in_pixels", [] { return without_last(formats_file("pillow", "jp2_rgb"), 60); }, "JPEG 2000 "},
    {"j2k_giant", [] { return jpeg2000_sized(4, 0x7FFFFFFF); }, "JPEG 2000 says 2147483647 x 6 pixels, more than the"},
    {"j2k_endless_tiles",
     [] {
       Bytes file = jpeg2000_sized(4, 60000);
       const Bytes tile = big_endian(1);
       std::copy(tile.begin(), tile.end(), file.begin() + 24);
       return file;
     },
     "60000 tiles, which"},
    {"j2k_no_tiles", [] { return jpeg2000_sized(20, 0); }, "JPEG 2000 says 9 x 6 pixels in tiles of 0 x"},
    {"npy_only_magic", [] { return text("\x93NUMPY"); }, "NumPy file is truncated or damaged"},
    {"npy_cut", [] { return without_last(formats_file("arrays", "npy_uint16"), 1); }, "NumPy file: its shape needs"},
    {"dicom_only_magic", [] { return cut(formats_file("dicom", "dicom_16"), 132); }, "DICOM holds no pixels"},
    {"dicom_cut_in_pixels", [] { return without_last(formats_file("dicom", "dicom_16"), 1); }, "DICOM is truncated or damaged"},
    {"dicom_cut_in_header", [] { return cut(formats_file("dicom", "dicom_16"), 200); }, "DICOM is truncated or damaged"},

    // Whole files with other channels than asked for.
    {"rgb_where_4_are_wanted", [] { return pillow_image("png_rgb"); },
     "expected 4 channels, the file has 3; set data.channels to 3", 4},
    {"grey_where_7_are_wanted", [] { return pillow_image("jpeg_l"); }, "expected 7 channels, the file has 1", 7},
    {"pages_where_rgb_is_wanted", [] { return pillow_file("decode", "stacks", "tiff_pages"); },
     "expected 3 channels, the file has 5", 3},
};

class BrokenInput : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenInput, SaysWhatIsWrong) {
  const Bytes file = GetParam().make();
  const DecodeOptions options{.channels = GetParam().channels};
  EXPECT_CONTAINS(testing::message_of([&] { decode_image(file, options); }), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(All, BrokenInput, ::testing::ValuesIn(kBroken),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tessera
