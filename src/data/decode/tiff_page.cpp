#include "data/decode/tiff_page.h"

#include "core/error.h"

namespace tessera {
namespace {

constexpr uint16_t kMaxSamples = 256;

uint16_t short_tag(const TiffFile& file, uint32_t tag, uint16_t otherwise) {
  uint16_t value = otherwise;
  TIFFGetFieldDefaulted(file.get(), tag, &value);
  return value;
}

void check_depth(const TiffPage& page) {
  const bool power = page.bits == 8 || page.bits == 16 || page.bits == 32;
  const bool real = page.format == SAMPLEFORMAT_IEEEFP && (page.bits == 32 || page.bits == 64);
  const bool whole = page.format == SAMPLEFORMAT_UINT && (power || page.bits == 1 || page.bits == 2 || page.bits == 4);
  const bool with_sign = page.format == SAMPLEFORMAT_INT && power;
  TSR_CHECK(
      real || whole || with_sign,
      "TIFF has {}-bit values of sample format {}: expected 1, 2, 4, 8, 16 or 32-bit integers or 32 or 64-bit floats; convert "
      "it to 16-bit",
      page.bits, page.format);
}

void check_photometric(const TiffPage& page) {
  switch (page.photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
    case PHOTOMETRIC_RGB:
    case PHOTOMETRIC_SEPARATED: return;
    case PHOTOMETRIC_PALETTE:
      TSR_CHECK(page.samples == 1 && page.as_bytes(),
                "TIFF has a palette with {} samples of {} bits: expected 1 of up to 8 bits", page.samples, page.bits);
      return;
    case PHOTOMETRIC_YCBCR:
      TSR_CHECK(page.samples == 3 && page.bits == 8,
                "TIFF is YCbCr with {} samples of {} bits: expected 3 of 8; convert it to RGB", page.samples, page.bits);
      return;
    default:
      fail("TIFF has photometric interpretation {}: expected grey, RGB, palette, CMYK or YCbCr; convert it to RGB",
           page.photometric);
  }
}

bool says_alpha(const TiffFile& file) {
  uint16_t count = 0;
  uint16_t* kinds = nullptr;
  if (TIFFGetField(file.get(), TIFFTAG_EXTRASAMPLES, &count, &kinds) != 1 || count == 0) return false;
  return kinds[count - 1] == EXTRASAMPLE_ASSOCALPHA || kinds[count - 1] == EXTRASAMPLE_UNASSALPHA;
}

}  // namespace

float TiffPage::max_value() const {
  if (format == SAMPLEFORMAT_IEEEFP) return 1.0F;
  const int used = format == SAMPLEFORMAT_INT ? bits - 1 : bits;
  return as_bytes() ? 255.0F : static_cast<float>((uint64_t{1} << used) - 1);
}

ColorKind TiffPage::kind() const {
  switch (photometric) {
    case PHOTOMETRIC_PALETTE: return ColorKind::kPalette;
    case PHOTOMETRIC_YCBCR: return ColorKind::kRgb;
    case PHOTOMETRIC_RGB: return samples == 3 ? ColorKind::kRgb : samples == 4 ? ColorKind::kRgba : ColorKind::kStack;
    case PHOTOMETRIC_SEPARATED: return samples == 4 ? ColorKind::kCmyk : ColorKind::kStack;
    default: return samples == 1 ? ColorKind::kGrey : samples == 2 && alpha ? ColorKind::kGreyAlpha : ColorKind::kStack;
  }
}

TiffPage read_tiff_page(const TiffFile& file, uint64_t max_pixels) {
  TiffPage page;
  TIFFGetField(file.get(), TIFFTAG_IMAGEWIDTH, &page.width);
  TIFFGetField(file.get(), TIFFTAG_IMAGELENGTH, &page.height);
  page.samples = short_tag(file, TIFFTAG_SAMPLESPERPIXEL, 1);
  page.bits = short_tag(file, TIFFTAG_BITSPERSAMPLE, 1);
  page.format = short_tag(file, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
  // "Void" is what writers that do not know put there; everybody reads it as unsigned.
  if (page.format == SAMPLEFORMAT_VOID) page.format = SAMPLEFORMAT_UINT;
  page.photometric = page.samples >= 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK;
  TIFFGetField(file.get(), TIFFTAG_PHOTOMETRIC, &page.photometric);
  page.orientation = short_tag(file, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
  if (page.orientation < 1 || page.orientation > 8) page.orientation = ORIENTATION_TOPLEFT;
  page.separate = short_tag(file, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) == PLANARCONFIG_SEPARATE && page.samples > 1;
  page.alpha = says_alpha(file);

  TSR_CHECK(page.samples >= 1 && page.samples <= kMaxSamples,
            "TIFF says {} samples per pixel: expected 1 to {}; the file is damaged, or must be split", page.samples,
            kMaxSamples);
  check_dimensions("TIFF", page.width, page.height, page.samples, page.as_bytes() ? 1 : 4, max_pixels);
  check_depth(page);
  check_photometric(page);
  return page;
}

bool is_auxiliary_page(const TiffFile& file) {
  uint32_t type = 0;
  TIFFGetFieldDefaulted(file.get(), TIFFTAG_SUBFILETYPE, &type);
  return (type & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK)) != 0;
}

std::vector<Color> read_tiff_palette(const TiffFile& file, const TiffPage& page) {
  uint16_t* red = nullptr;
  uint16_t* green = nullptr;
  uint16_t* blue = nullptr;
  if (TIFFGetField(file.get(), TIFFTAG_COLORMAP, &red, &green, &blue) != 1) file.fail_with("has no colour map for its palette");
  std::vector<Color> palette(size_t{1} << page.bits);
  // The map is 16-bit; the picture it was made from was not.
  const auto top = [](uint16_t v) { return static_cast<uint8_t>(v >> 8); };
  for (size_t i = 0; i < palette.size(); ++i) palette[i] = {top(red[i]), top(green[i]), top(blue[i])};
  return palette;
}

}  // namespace tessera
