#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/error.h"
#include "data/decode/tiff_page.h"
#include "data/decode/unpack.h"

namespace tessera {
namespace {

// How far a codec can shrink at best, roughly and from above: a header that promises more than the file can hold is refused
// before memory is taken for it. 0: no such bound (a blank fax line costs one bit).
uint64_t max_ratio(uint16_t compression) {
  switch (compression) {
    case COMPRESSION_NONE: return 1;
    case COMPRESSION_PACKBITS: return 64;
    case COMPRESSION_LZW:
    case COMPRESSION_DEFLATE:
    case COMPRESSION_ADOBE_DEFLATE: return 4096;
    default: return 0;
  }
}

void check_plausible(const TiffFile& file, uint64_t decoded_bytes) {
  uint16_t compression = COMPRESSION_NONE;
  TIFFGetFieldDefaulted(file.get(), TIFFTAG_COMPRESSION, &compression);
  const uint64_t ratio = max_ratio(compression);
  TSR_CHECK(ratio == 0 || decoded_bytes / ratio <= file.size(),
            "TIFF is truncated: its header promises {} bytes of pixels, which a file of {} bytes cannot hold; get it again",
            decoded_bytes, file.size());
}

// A strip or a tile: a rectangle of one plane, or of all when they are stored together.
struct Block {
  uint32_t y = 0, x = 0;
  uint32_t rows = 0, columns = 0;  // inside the image
  size_t stride = 0;               // bytes per stored row
  uint32_t samples = 0;            // per stored pixel
};

template <class From, class To>
void convert_row(const uint8_t* from, To* to, size_t pixels, size_t samples, size_t channels) {
  for (size_t i = 0; i < pixels; ++i) {
    for (size_t s = 0; s < samples; ++s) {
      From value;
      std::memcpy(&value, from + (i * samples + s) * sizeof(From), sizeof value);
      to[i * channels + s] = static_cast<To>(value);
    }
  }
}

void store_row(const uint8_t* from, const TiffPage& page, const Block& block, Image& image, size_t at, uint16_t* words) {
  const auto channels = static_cast<size_t>(image.channels);
  if (words != nullptr) return convert_row<uint16_t>(from, words + at, block.columns, block.samples, channels);
  const size_t values = size_t{block.columns} * block.samples;
  if (page.as_bytes()) {
    uint8_t* to = image.bytes().data() + at;
    if (page.bits == 8) return convert_row<uint8_t>(from, to, block.columns, block.samples, channels);
    std::vector<uint8_t> row(values);
    unpack_bits({from, block.stride}, page.bits, row);
    return convert_row<uint8_t>(row.data(), to, block.columns, block.samples, channels);
  }
  float* to = image.floats().data() + at;
  const auto store = [&]<class T>(std::type_identity<T>) { convert_row<T>(from, to, block.columns, block.samples, channels); };
  if (page.format == SAMPLEFORMAT_IEEEFP)
    return page.bits == 32 ? store(std::type_identity<float>{}) : store(std::type_identity<double>{});
  const bool has_sign = page.format == SAMPLEFORMAT_INT;
  if (page.bits == 8) return store(std::type_identity<int8_t>{});
  if (page.bits == 16) return has_sign ? store(std::type_identity<int16_t>{}) : store(std::type_identity<uint16_t>{});
  return has_sign ? store(std::type_identity<int32_t>{}) : store(std::type_identity<uint32_t>{});
}

void store_block(const std::vector<uint8_t>& buffer, const TiffPage& page, const Block& block, Image& image, int first,
                 uint16_t* words) {
  for (uint32_t row = 0; row < block.rows; ++row) {
    const size_t pixel = size_t{block.y + row} * page.width + block.x;
    store_row(buffer.data() + row * block.stride, page, block, image,
              pixel * static_cast<size_t>(image.channels) + static_cast<size_t>(first), words);
  }
}

std::vector<uint8_t> block_buffer(const TiffFile& file, uint64_t size) {
  check_plausible(file, size);
  TSR_CHECK(size > 0 && size <= kMaxPixels, "TIFF has strips or tiles of {} bytes: expected up to 1 GiB; the file is damaged",
            size);
  return std::vector<uint8_t>(size);
}

void read_strips(const TiffFile& file, const TiffPage& page, Image& image, int first, uint16_t* words) {
  TIFF* tiff = file.get();
  uint32_t rows_per_strip = page.height;
  TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &rows_per_strip);
  rows_per_strip = std::min(std::max(rows_per_strip, 1U), page.height);
  std::vector<uint8_t> buffer = block_buffer(file, TIFFStripSize64(tiff));
  Block block{.columns = page.width,
              .stride = static_cast<size_t>(TIFFScanlineSize64(tiff)),
              .samples = page.separate ? 1U : page.samples};
  for (uint16_t plane = 0; plane < (page.separate ? page.samples : 1); ++plane) {
    for (block.y = 0; block.y < page.height; block.y += block.rows) {
      block.rows = std::min(rows_per_strip, page.height - block.y);
      const auto wanted = static_cast<tmsize_t>(block.rows * block.stride);
      TSR_CHECK(static_cast<size_t>(wanted) <= buffer.size(), "TIFF has strips smaller than their rows; the file is damaged");
      if (TIFFReadEncodedStrip(tiff, TIFFComputeStrip(tiff, block.y, plane), buffer.data(), wanted) != wanted) {
        file.fail_with(fmt::format("is truncated or corrupt at row {} of {}", block.y, page.height));
      }
      store_block(buffer, page, block, image, first + plane, words);
    }
  }
}

void read_tiles(const TiffFile& file, const TiffPage& page, Image& image, int first, uint16_t* words) {
  TIFF* tiff = file.get();
  uint32_t tile_width = 0;
  uint32_t tile_height = 0;
  TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &tile_width);
  TIFFGetField(tiff, TIFFTAG_TILELENGTH, &tile_height);
  TSR_CHECK(tile_width > 0 && tile_height > 0, "TIFF has tiles of {} x {} pixels; the file is damaged", tile_width,
            tile_height);
  std::vector<uint8_t> buffer = block_buffer(file, TIFFTileSize64(tiff));
  Block block{.stride = static_cast<size_t>(TIFFTileRowSize64(tiff)), .samples = page.separate ? 1U : page.samples};
  TSR_CHECK(block.stride * tile_height <= buffer.size(), "TIFF has tiles smaller than their rows; the file is damaged");
  for (uint16_t plane = 0; plane < (page.separate ? page.samples : 1); ++plane) {
    for (block.y = 0; block.y < page.height; block.y += block.rows) {
      block.rows = std::min(tile_height, page.height - block.y);
      for (block.x = 0; block.x < page.width; block.x += block.columns) {
        block.columns = std::min(tile_width, page.width - block.x);
        const auto wanted = static_cast<tmsize_t>(buffer.size());
        if (TIFFReadEncodedTile(tiff, TIFFComputeTile(tiff, block.x, block.y, 0, plane), buffer.data(), wanted) != wanted) {
          file.fail_with(fmt::format("is truncated or corrupt in the tile at (y {}, x {})", block.y, block.x));
        }
        store_block(buffer, page, block, image, first + plane, words);
      }
    }
  }
}

// YCbCr, usually subsampled: libtiff converts the page as a whole. Asked for the stored orientation, it turns nothing.
void read_through_rgba(const TiffFile& file, const TiffPage& page, Image& image, int first) {
  std::vector<uint32_t> pixels(size_t{page.width} * page.height);
  if (TIFFReadRGBAImageOriented(file.get(), page.width, page.height, pixels.data(), page.orientation, 1) != 1) {
    file.fail_with("is truncated or corrupt");
  }
  auto to = image.bytes().begin() + first;
  for (const uint32_t pixel : pixels) {
    to[0] = static_cast<uint8_t>(TIFFGetR(pixel));
    to[1] = static_cast<uint8_t>(TIFFGetG(pixel));
    to[2] = static_cast<uint8_t>(TIFFGetB(pixel));
    to += image.channels;
  }
}

}  // namespace

void read_tiff_pixels(const TiffFile& file, const TiffPage& page, Image& image, int first, uint16_t* words) {
  if (page.photometric == PHOTOMETRIC_YCBCR) return read_through_rgba(file, page, image, first);
  if (TIFFIsTiled(file.get()) != 0) return read_tiles(file, page, image, first, words);
  read_strips(file, page, image, first, words);
}

void read_tiff_raw_pixels(const TiffFile& file, const TiffPage& page, uint64_t number, Image& image, int first) {
  uint16_t compression = COMPRESSION_NONE;
  TIFFGetFieldDefaulted(file.get(), TIFFTAG_COMPRESSION, &compression);
  TSR_CHECK(
      compression == COMPRESSION_NONE && TIFFIsTiled(file.get()) == 0 && !page.separate && page.bits >= 8,
      "TIFF says it is a stack of ImageJ but has one directory, whose pixels are compressed, in tiles or planes: expected "
      "a directory for each plane; save it again with ImageJ");
  Block block{.rows = page.height,
              .columns = page.width,
              .stride = size_t{page.width} * page.samples * (page.bits / 8U),
              .samples = page.samples};
  const uint64_t start = TIFFGetStrileOffset(file.get(), 0), size = uint64_t{block.stride} * page.height;
  const std::span<const uint8_t> bytes = file.bytes();
  TSR_CHECK(
      start <= bytes.size() && number < (bytes.size() - start) / size,
      "TIFF is truncated: plane {} of its stack of ImageJ, {} bytes each from byte {}, lies beyond the end of its {}; get "
      "it again",
      number, size, start, bytes.size());
  const auto from = bytes.subspan(start + number * size, size);
  std::vector<uint8_t> plane(from.begin(), from.end());
  if (TIFFIsByteSwapped(file.get()) != 0) {
    const auto count = static_cast<tmsize_t>(size / (page.bits / 8U));
    if (page.bits == 16) TIFFSwabArrayOfShort(reinterpret_cast<uint16_t*>(plane.data()), count);
    if (page.bits == 32) TIFFSwabArrayOfLong(reinterpret_cast<uint32_t*>(plane.data()), count);
    if (page.bits == 64) TIFFSwabArrayOfDouble(reinterpret_cast<double*>(plane.data()), count);
  }
  store_block(plane, page, block, image, first, nullptr);
}

void check_tiff_plausible(const TiffFile& file, const TiffPage& page) {
  const uint64_t pixels = uint64_t{page.width} * page.height;
  // Subsampled colour is stored in half the bytes or fewer.
  check_plausible(file, page.photometric == PHOTOMETRIC_YCBCR ? pixels : pixels * page.samples * page.bits / 8);
}

}  // namespace tessera
