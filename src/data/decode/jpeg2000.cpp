#include "data/decode/jpeg2000.h"

#include <openjpeg.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "core/error.h"

namespace tessera {
namespace {

using Codec = std::unique_ptr<opj_codec_t, decltype(&opj_destroy_codec)>;
using Stream = std::unique_ptr<opj_stream_t, decltype(&opj_stream_destroy)>;
using Picture = std::unique_ptr<opj_image_t, decltype(&opj_image_destroy)>;

constexpr uint32_t kCodestream = 0xFF4FFF51;  // the markers "start" and "size"
constexpr uint64_t kSmallestTile = 14;        // bytes of its two markers

struct Source {
  std::span<const uint8_t> bytes;
  size_t at = 0;
  std::string error = {};
};

OPJ_SIZE_T read_bytes(void* to, OPJ_SIZE_T size, void* user) {
  auto& source = *static_cast<Source*>(user);
  const size_t count = std::min<size_t>(size, source.bytes.size() - source.at);
  if (count == 0) return static_cast<OPJ_SIZE_T>(-1);
  std::memcpy(to, source.bytes.data() + source.at, count);
  source.at += count;
  return count;
}

OPJ_OFF_T skip_bytes(OPJ_OFF_T size, void* user) {
  auto& source = *static_cast<Source*>(user);
  if (size < 0 || static_cast<size_t>(size) > source.bytes.size() - source.at) return -1;
  source.at += static_cast<size_t>(size);
  return size;
}

OPJ_BOOL seek_to(OPJ_OFF_T place, void* user) {
  auto& source = *static_cast<Source*>(user);
  if (place < 0 || static_cast<size_t>(place) > source.bytes.size()) return OPJ_FALSE;
  source.at = static_cast<size_t>(place);
  return OPJ_TRUE;
}

// The first error is the cause; what follows are its consequences.
void on_error(const char* message, void* user) {
  std::string& error = static_cast<Source*>(user)->error;
  if (!error.empty()) return;
  error = message;
  while (!error.empty() && (error.back() == '\n' || error.back() == '.')) error.pop_back();
}
void on_other(const char*, void*) {}

[[noreturn]] void fail_with(const Source& source, const char* what) {
  fail("JPEG 2000 {}: {}; get it again", what, source.error.empty() ? "it is truncated or corrupt" : source.error);
}

uint32_t number(std::span<const uint8_t> bytes, size_t at) {
  TSR_CHECK(at + 4 <= bytes.size(), "JPEG 2000 is truncated: the file ends inside its header; get it again");
  return uint32_t{bytes[at]} << 24 | uint32_t{bytes[at + 1]} << 16 | uint32_t{bytes[at + 2]} << 8 | bytes[at + 3];
}

// Where the codestream starts: at once, or in a box of its own.
size_t find_codestream(std::span<const uint8_t> bytes) {
  constexpr uint32_t kBox = 0x6A703263;  // "jp2c"
  size_t at = 0;
  while (number(bytes, at) != kCodestream) {
    const uint64_t short_length = number(bytes, at), type = number(bytes, at + 4);
    const bool is_long = short_length == 1;
    const uint64_t length = is_long ? uint64_t{number(bytes, at + 8)} << 32 | number(bytes, at + 12) : short_length;
    const size_t header = is_long ? 16 : 8;
    if (type == kBox) {
      at += header;
      TSR_CHECK(number(bytes, at) == kCodestream, "JPEG 2000 is corrupt: its codestream has no header; get it again");
      return at;
    }
    TSR_CHECK(length >= header && length <= bytes.size() - at,
              "JPEG 2000 is truncated: its boxes end before the codestream; get it again");
    at += length;
  }
  return at;
}

// What the library would take memory for, before it is asked to: the picture, and 6 KB for each tile a header speaks of.
void check_sizes(std::span<const uint8_t> bytes, uint64_t max_pixels) {
  const size_t at = find_codestream(bytes) + 8;  // behind both markers, the segment's length and the capabilities
  const uint64_t right = number(bytes, at), bottom = number(bytes, at + 4), left = number(bytes, at + 8),
                 top = number(bytes, at + 12);
  const uint64_t tile_width = number(bytes, at + 16), tile_height = number(bytes, at + 20);
  const uint64_t first_x = number(bytes, at + 24), first_y = number(bytes, at + 28);  // of the first tile
  const uint64_t components = number(bytes, at + 32) >> 16;
  TSR_CHECK(left < right && top < bottom && tile_width > 0 && tile_height > 0 && first_x <= left && first_y <= top,
            "JPEG 2000 says {} x {} pixels in tiles of {} x {}; the file is damaged", right, bottom, tile_width, tile_height);
  check_dimensions("JPEG 2000", right - left, bottom - top, components, sizeof(OPJ_INT32), max_pixels);
  const uint64_t across = (right - first_x + tile_width - 1) / tile_width,
                 down = (bottom - first_y + tile_height - 1) / tile_height;
  TSR_CHECK(across * down <= bytes.size() / kSmallestTile,
            "JPEG 2000 is truncated: it says {} tiles, which {} bytes cannot hold; get it again", across * down, bytes.size());
}

Stream open_stream(Source& source) {
  Stream stream(opj_stream_default_create(OPJ_TRUE), opj_stream_destroy);
  TSR_CHECK(stream != nullptr, "JPEG 2000 cannot be decoded: out of memory");
  opj_stream_set_user_data(stream.get(), &source, nullptr);
  opj_stream_set_user_data_length(stream.get(), source.bytes.size());
  opj_stream_set_read_function(stream.get(), read_bytes);
  opj_stream_set_skip_function(stream.get(), skip_bytes);
  opj_stream_set_seek_function(stream.get(), seek_to);
  return stream;
}

Picture read_picture(Source& source) {
  const bool bare = number(source.bytes, 0) == kCodestream;
  const Codec codec(opj_create_decompress(bare ? OPJ_CODEC_J2K : OPJ_CODEC_JP2), opj_destroy_codec);
  TSR_CHECK(codec != nullptr, "JPEG 2000 cannot be decoded: out of memory");
  opj_set_error_handler(codec.get(), on_error, &source);
  opj_set_warning_handler(codec.get(), on_other, nullptr);
  opj_set_info_handler(codec.get(), on_other, nullptr);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  const Stream stream = open_stream(source);
  opj_image_t* raw = nullptr;
  const bool headed = opj_setup_decoder(codec.get(), &parameters) == OPJ_TRUE &&
                      opj_decoder_set_strict_mode(codec.get(), OPJ_TRUE) == OPJ_TRUE &&
                      opj_read_header(stream.get(), codec.get(), &raw) == OPJ_TRUE;
  Picture picture(raw, opj_image_destroy);
  if (!headed || picture == nullptr) fail_with(source, "has a header that cannot be read");
  if (opj_decode(codec.get(), stream.get(), raw) != OPJ_TRUE || opj_end_decompress(codec.get(), stream.get()) != OPJ_TRUE)
    fail_with(source, "cannot be decoded");
  return picture;
}

void check_components(const opj_image_t& picture) {
  TSR_CHECK(picture.numcomps > 0, "JPEG 2000 says it has no components; the file is damaged");
  TSR_CHECK(picture.color_space != OPJ_CLRSPC_SYCC && picture.color_space != OPJ_CLRSPC_EYCC,
            "JPEG 2000 stores its colours as YCC: expected grey or RGB; convert it to PNG");
  const opj_image_comp_t& first = picture.comps[0];
  for (uint32_t i = 0; i < picture.numcomps; ++i) {
    const opj_image_comp_t& one = picture.comps[i];
    TSR_CHECK(one.data != nullptr && one.w == first.w && one.h == first.h && one.prec == first.prec && one.sgnd == first.sgnd,
              "JPEG 2000 has components of different sizes or types: expected all alike; convert it to PNG");
    TSR_CHECK(one.prec >= 8 && one.prec <= 16, "JPEG 2000 has components of {} bits: expected 8 to 16; convert it to PNG",
              one.prec);
  }
}

ColorKind kind_of(const opj_image_t& picture) {
  const bool alpha = picture.comps[picture.numcomps - 1].alpha != 0;
  switch (picture.numcomps) {
    case 1: return ColorKind::kGrey;
    case 2: return alpha ? ColorKind::kGreyAlpha : ColorKind::kStack;
    case 3: return ColorKind::kRgb;
    case 4: return alpha ? ColorKind::kRgba : ColorKind::kStack;
    default: return ColorKind::kStack;
  }
}

template <class T>
std::vector<T> interleaved(const opj_image_t& picture) {
  const size_t channels = picture.numcomps, pixels = size_t{picture.comps[0].w} * picture.comps[0].h;
  std::vector<T> out(pixels * channels);
  for (size_t c = 0; c < channels; ++c) {
    for (size_t i = 0; i < pixels; ++i) out[i * channels + c] = static_cast<T>(picture.comps[c].data[i]);
  }
  return out;
}

}  // namespace

Raster decode_jpeg2000(std::span<const uint8_t> bytes, uint64_t max_pixels) {
  check_sizes(bytes, max_pixels);
  Source source{bytes};
  const Picture picture = read_picture(source);
  check_components(*picture);
  const opj_image_comp_t& first = picture->comps[0];
  check_dimensions("JPEG 2000", first.w, first.h, picture->numcomps, sizeof(float), max_pixels);
  Raster raster;
  raster.kind = kind_of(*picture);
  raster.bits = static_cast<int>(first.prec);
  raster.with_sign = first.sgnd != 0;
  Image& image = raster.image;
  image.height = static_cast<int>(first.h);
  image.width = static_cast<int>(first.w);
  image.channels = static_cast<int>(picture->numcomps);
  if (first.prec == 8 && !raster.with_sign) {
    image.pixels = interleaved<uint8_t>(*picture);
  } else {
    image.max_value = static_cast<float>((1U << (first.prec - (raster.with_sign ? 1U : 0U))) - 1U);
    image.pixels = interleaved<float>(*picture);
  }
  return raster;
}

}  // namespace tessera
