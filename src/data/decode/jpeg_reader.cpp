#include "data/decode/jpeg_reader.h"

#include <jerror.h>

#include <algorithm>
#include <array>
#include <string>

#include "core/error.h"
#include "data/decode/exif.h"

namespace tessera {
namespace {

// A stream of thousands of scans keeps the decoder busy for hours; encoders write about ten.
constexpr int kMaxScans = 500;
// Huffman coding spends at least a bit on 64 values of the first component, which covers at most 16 pixels a value.
constexpr uint64_t kMaxPixelsPerByte = 64 * 16 * 8;
// Of a file at most one part in so many is taken for stray bytes.
constexpr size_t kStrayShare = 16;

std::string library_message(j_common_ptr info) {
  std::array<char, JMSG_LENGTH_MAX> text{};
  info->err->format_message(info, text.data());
  return text.data();
}

[[noreturn]] void fail_truncated(j_common_ptr info) {
  const auto* jpeg = reinterpret_cast<j_decompress_ptr>(info);
  TSR_CHECK(jpeg->output_height > 0, "JPEG is truncated: the file ends inside its header; get it again");
  TSR_CHECK(!jpeg->progressive_mode || jpeg->output_scanline > 0,
            "JPEG is truncated: the file ends in scan {} of a progressive image; get it again", jpeg->input_scan_number);
  fail("JPEG is truncated: {} of {} rows and then the file ends; get it again", jpeg->output_scanline, jpeg->output_height);
}

// libjpeg's callbacks leave by exception. Its C code keeps no locks and owns nothing but the memory jpeg_destroy frees, and
// the unwind tables of the platforms we build on cover C, so this replaces setjmp, which would skip our destructors.
[[noreturn]] void on_error(j_common_ptr info) {
  if (info->err->msg_code == JERR_INPUT_EMPTY || info->err->msg_code == JERR_INPUT_EOF) fail_truncated(info);
  fail("JPEG cannot be decoded: {}", library_message(info));
}

// Whether bytes that lie between two segments are only that. Cameras write such; but a decoder that damaged bits have led
// astray also finds its last pixel too early, and then what it skips is much of the file, and no padding.
bool are_stray(const jpeg_decompress_struct& jpeg) {
  const auto file_size = *static_cast<const size_t*>(jpeg.client_data);
  const auto skipped = static_cast<size_t>(jpeg.err->msg_parm.i[0]);
  const std::span<const uint8_t> bytes(jpeg.src->next_input_byte - skipped, skipped);
  const bool padding = std::all_of(bytes.begin(), bytes.end(), [&](uint8_t byte) { return byte == bytes[0]; });
  return padding || skipped <= file_size / kStrayShare;
}

// Warnings after which every pixel is what the encoder stored: stray bytes, header fields that mean nothing here, a colour
// transform by another number. Other readers do not even mention them. All other warnings tell of pixels that are lost: libjpeg
// goes on with grey or with what it makes of the wrong bits, and a picture whose half has moved no longer fits its mask.
bool is_harmless(const jpeg_decompress_struct& jpeg) {
  switch (jpeg.err->msg_code) {
    case JWRN_EXTRANEOUS_DATA: return are_stray(jpeg);
    case JWRN_JFIF_MAJOR:
    case JWRN_NOT_SEQUENTIAL:
    case JWRN_ADOBE_XFORM: return true;
    default: return false;
  }
}

// Level -1 marks a warning.
void on_message(j_common_ptr info, int level) {
  if (level >= 0 || is_harmless(*reinterpret_cast<j_decompress_ptr>(info))) return;
  if (info->err->msg_code == JWRN_JPEG_EOF) fail_truncated(info);
  fail("JPEG is corrupt: {}; get it again", library_message(info));
}

void on_progress(j_common_ptr info) {
  const int scans = reinterpret_cast<j_decompress_ptr>(info)->input_scan_number;
  TSR_CHECK(scans <= kMaxScans, "JPEG has more than {} scans; it was made to be slow, or is corrupt", kMaxScans);
}

ColorKind choose_output(jpeg_decompress_struct& jpeg) {
  switch (jpeg.jpeg_color_space) {
    case JCS_GRAYSCALE: jpeg.out_color_space = JCS_GRAYSCALE; return ColorKind::kGrey;
    case JCS_YCbCr:
    case JCS_RGB: jpeg.out_color_space = JCS_RGB; return ColorKind::kRgb;
    case JCS_CMYK:
    case JCS_YCCK: jpeg.out_color_space = JCS_CMYK; return ColorKind::kCmyk;
    default:
      fail("JPEG has {} components of unknown meaning: expected grey, RGB or CMYK; convert it to PNG", jpeg.num_components);
  }
}

}  // namespace

JpegReader::JpegReader(std::span<const uint8_t> bytes, bool exif_orientation, uint64_t max_pixels) : file_size_(bytes.size()) {
  jpeg_.err = jpeg_std_error(&errors_);
  errors_.error_exit = on_error;
  errors_.emit_message = on_message;
  progress_.progress_monitor = on_progress;
  jpeg_create_decompress(&jpeg_);
  try {
    jpeg_.progress = &progress_;
    jpeg_.client_data = &file_size_;
    jpeg_mem_src(&jpeg_, bytes.data(), bytes.size());
    if (exif_orientation) jpeg_save_markers(&jpeg_, JPEG_APP0 + 1, 0xFFFF);
    jpeg_read_header(&jpeg_, TRUE);
    check_dimensions("JPEG", jpeg_.image_width, jpeg_.image_height, static_cast<uint64_t>(jpeg_.num_components), 1, max_pixels);
    const uint64_t pixels = uint64_t{jpeg_.image_width} * jpeg_.image_height;
    TSR_CHECK(jpeg_.arith_code || pixels / kMaxPixelsPerByte <= bytes.size(),
              "JPEG is truncated: it says {} x {} pixels, which {} bytes cannot hold; get it again", jpeg_.image_width,
              jpeg_.image_height, bytes.size());
    kind_ = choose_output(jpeg_);
    jpeg_.dct_method = JDCT_ISLOW;
    jpeg_.do_fancy_upsampling = TRUE;
  } catch (...) {
    jpeg_destroy_decompress(&jpeg_);
    throw;
  }
}

int JpegReader::orientation() const {
  for (const auto* marker = jpeg_.marker_list; marker != nullptr; marker = marker->next) {
    const int value = app1_orientation({marker->data, marker->data_length});
    if (value != 1) return value;
  }
  return 1;
}

}  // namespace tessera
