#include "data/decode/tiff.h"

#include "core/error.h"
#include "data/decode/orient.h"
#include "data/decode/tiff_page.h"

namespace tessera {
namespace {

// As many as a config may ask for.
constexpr size_t kMaxChannels = 256;

struct NumberedPage {
  tdir_t number = 0;
  TiffPage tags;
};

void check_same(const TiffPage& first, const TiffPage& page, size_t number) {
  TSR_CHECK(
      page.width == first.width && page.height == first.height,
      "TIFF page {} is {} x {} pixels, page 1 {} x {}: expected pages of one size, they are read as channels; split the file",
      number, page.width, page.height, first.width, first.height);
  TSR_CHECK(page.bits == first.bits && page.format == first.format && page.photometric == first.photometric,
            "TIFF page {} has another type of pixel than page 1: expected one type, pages are read as channels; split the file",
            number);
}

// Walks the directories once, reading tags only.
std::vector<NumberedPage> list_pages(const TiffFile& file, uint64_t max_pixels) {
  std::vector<NumberedPage> pages;
  size_t channels = 0;
  for (tdir_t number = 0;; ++number) {
    if (!is_auxiliary_page(file)) {
      pages.push_back({number, read_tiff_page(file, max_pixels)});
      const TiffPage& page = pages.back().tags;
      check_same(pages.front().tags, page, size_t{number} + 1);
      check_tiff_plausible(file, page);
      channels += page.samples;
      TSR_CHECK(channels <= kMaxChannels, "TIFF has more than {} channels in {} pages; split the file", kMaxChannels,
                pages.size());
    }
    if (TIFFLastDirectory(file.get()) != 0) break;
    if (TIFFReadDirectory(file.get()) != 1) file.fail_with(fmt::format("has a damaged directory after page {}", number + 1));
  }
  TSR_CHECK(!pages.empty(), "TIFF holds only previews and masks: expected at least one full picture");
  return pages;
}

// as_words: the values go elsewhere.
Image blank_image(const TiffPage& page, int channels, bool as_words) {
  Image image;
  image.height = static_cast<int>(page.height);
  image.width = static_cast<int>(page.width);
  image.channels = channels;
  image.max_value = page.max_value();
  if (as_words) return image;
  if (page.as_bytes()) {
    image.pixels = std::vector<uint8_t>(image.count());
  } else {
    image.pixels = std::vector<float>(image.count());
  }
  return image;
}

void invert(Image& image, int bits) {
  if (image.is_bytes()) {
    const int top = (1 << bits) - 1;
    for (uint8_t& v : image.bytes()) v = static_cast<uint8_t>(top - v);
  } else {
    for (float& v : image.floats()) v = image.max_value - v;
  }
}

}  // namespace

Raster decode_tiff(std::span<const uint8_t> bytes, uint64_t max_pixels, bool keep_words) {
  const TiffFile file(bytes);
  const std::vector<NumberedPage> pages = list_pages(file, max_pixels);
  const TiffPage& first = pages.front().tags;
  size_t channels = 0;
  for (const NumberedPage& page : pages) channels += page.tags.samples;
  const bool as_words = keep_words && first.bits == 16 && first.format == SAMPLEFORMAT_UINT &&
                        first.photometric != PHOTOMETRIC_MINISWHITE && first.orientation == ORIENTATION_TOPLEFT;
  const uint64_t deep = as_words ? 2 : 4;
  check_dimensions("TIFF", first.width, first.height, channels, first.as_bytes() ? 1 : deep, max_pixels);

  Raster raster;
  raster.kind = pages.size() == 1 ? first.kind() : ColorKind::kStack;
  raster.bits = first.bits;
  raster.with_sign = first.format == SAMPLEFORMAT_INT;
  TSR_CHECK(pages.size() == 1 || first.kind() != ColorKind::kPalette,
            "TIFF has {} pages with palettes: expected one page, or pages of values; split the file", pages.size());
  raster.image = blank_image(first, static_cast<int>(channels), as_words);
  if (as_words) raster.words.resize(raster.image.count());
  Image& image = raster.image;

  int channel = 0;
  for (const NumberedPage& page : pages) {
    if (TIFFSetDirectory(file.get(), page.number) != 1) file.fail_with(fmt::format("has a damaged page {}", page.number + 1));
    if (page.tags.kind() == ColorKind::kPalette) raster.palette = read_tiff_palette(file, page.tags);
    read_tiff_pixels(file, page.tags, image, channel, as_words ? raster.words.data() : nullptr);
    channel += page.tags.samples;
  }
  if (first.photometric == PHOTOMETRIC_MINISWHITE && first.format == SAMPLEFORMAT_UINT) invert(image, first.bits);
  if (first.orientation != ORIENTATION_TOPLEFT) image = orient(image, first.orientation);
  return raster;
}

}  // namespace tessera
