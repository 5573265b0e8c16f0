#include "data/decode/tiff.h"

#include <algorithm>

#include "core/error.h"
#include "data/decode/orient.h"
#include "data/decode/tiff_page.h"
#include "data/decode/tiff_planes.h"

namespace tessera {
namespace {

void check_same(const TiffPage& first, const TiffPage& page, size_t number) {
  TSR_CHECK(
      page.width == first.width && page.height == first.height,
      "TIFF page {} is {} x {} pixels, page 1 {} x {}: expected pages of one size, they are read as channels; split the file",
      number, page.width, page.height, first.width, first.height);
  TSR_CHECK(page.bits == first.bits && page.format == first.format && page.photometric == first.photometric &&
                page.samples == first.samples,
            "TIFF page {} has another type of pixel than page 1: expected one type, pages are read as channels; split the file",
            number);
}

// as_words: the values go elsewhere.
Image blank_image(const TiffPage& page, int channels, bool as_words = false) {
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

// Files that store white as 0.
void invert_if_white(Image& image, const TiffPage& page) {
  if (page.photometric != PHOTOMETRIC_MINISWHITE || page.format != SAMPLEFORMAT_UINT) return;
  if (image.is_bytes()) {
    const int top = (1 << page.bits) - 1;
    for (uint8_t& v : image.bytes()) v = static_cast<uint8_t>(top - v);
  } else {
    for (float& v : image.floats()) v = image.max_value - v;
  }
}

// Reads the planes of one file, all of which have the tags of the first.
class PlaneReader {
 public:
  PlaneReader(const TiffFile& file, const StackLayout& layout, const TiffPage& tags)
      : file_(file), raw_(layout.raw), tags_(tags) {}

  // words: where values of 16 bits go, in place of the image.
  void read_page(int64_t page, Image& image, int first, uint16_t* words = nullptr) const {
    if (raw_) return read_tiff_raw_pixels(file_, tags_, static_cast<uint64_t>(page), image, first);
    file_.go_to(static_cast<tdir_t>(page));
    read_tiff_pixels(file_, tags_, image, first, words);
  }

  // The largest values of the plane's pages, as they are shown.
  Image read_largest(const TakenPlane& plane) const {
    Image largest;
    for (const int64_t page : plane.pages) {
      Image one = blank_image(tags_, tags_.samples);
      read_page(page, one, 0);
      invert_if_white(one, tags_);
      if (largest.channels == 0) {
        largest = std::move(one);
      } else {
        take_larger(largest, one);
      }
    }
    return plane.sample < 0 ? largest : pick_channels(std::move(largest), {plane.sample});
  }

 private:
  const TiffFile& file_;
  bool raw_;
  const TiffPage& tags_;
};

// All pages that are read must be as the first of the stack. Throws before memory is taken for pixels.
void check_pages(const TiffFile& file, const std::vector<TakenPlane>& planes, const TiffPage& first, bool raw,
                 uint64_t max_pixels) {
  if (raw) check_tiff_plausible(file, first);
  size_t channels = 0;
  for (const TakenPlane& plane : planes) {
    for (const int64_t number : plane.pages) {
      if (raw) break;
      file.go_to(static_cast<tdir_t>(number));
      const TiffPage page = read_tiff_page(file, max_pixels);
      check_same(first, page, static_cast<size_t>(number) + 1);
      check_tiff_plausible(file, page);
    }
    channels += plane.sample < 0 ? first.samples : 1;
  }
  TSR_CHECK(channels <= kMaxChannels, "TIFF has more than {} channels in {} pages; split the file", kMaxChannels,
            planes.size());
  check_dimensions("TIFF", first.width, first.height, channels, first.as_bytes() ? 1 : 4, max_pixels);
}

}  // namespace

Raster decode_tiff(std::span<const uint8_t> bytes, uint64_t max_pixels, const StackChoice& choice, bool keep_words) {
  const TiffFile file(bytes);
  const StackLayout layout = find_layout(file, !choice.takes_all());
  file.go_to(layout.raw ? 0 : static_cast<tdir_t>(std::max<int64_t>(layout.pages.front(), 0)));
  const TiffPage first = read_tiff_page(file, max_pixels);
  TSR_CHECK(first.samples == layout.samples,
            "TIFF says in its metadata that its first plane lies on a page of {} channels, others have {}; the file is damaged",
            first.samples, layout.samples);
  const bool is_stack = layout.pages.size() > 1;
  std::vector<std::string> names = layout.names;
  if (names.empty() && layout.channels == 1) names = color_names(first.kind());
  std::vector<int> channels;
  if (is_stack && !choice.channels.empty())
    channels = chosen_channels(choice.channels, names, layout.channels * layout.samples);

  const std::vector<TakenPlane> planes = take_planes(layout, choice, channels);
  check_pages(file, planes, first, layout.raw, max_pixels);
  const bool whole_pages = planes.front().pages.size() == 1 && planes.front().sample < 0;
  Raster raster;
  raster.kind = planes.size() > 1 ? ColorKind::kStack : planes.front().sample < 0 ? first.kind() : ColorKind::kGrey;
  raster.bits = first.bits;
  raster.with_sign = first.format == SAMPLEFORMAT_INT;
  TSR_CHECK((planes.size() == 1 && whole_pages) || first.kind() != ColorKind::kPalette,
            "TIFF has {} pages with palettes: expected one page, or pages of values; split the file", layout.pages.size());
  const int per_plane = planes.front().sample < 0 ? first.samples : 1;
  const bool as_words = keep_words && whole_pages && !layout.raw && choice.takes_all() && first.bits == 16 &&
                        first.format == SAMPLEFORMAT_UINT && first.photometric != PHOTOMETRIC_MINISWHITE &&
                        first.orientation == ORIENTATION_TOPLEFT;
  raster.image = blank_image(first, static_cast<int>(planes.size()) * per_plane, as_words);
  if (as_words) raster.words.resize(raster.image.count());
  Image& image = raster.image;

  const PlaneReader reader(file, layout, first);
  for (size_t i = 0; i < planes.size(); ++i) {
    const int channel = static_cast<int>(i) * per_plane;
    if (whole_pages) {
      reader.read_page(planes[i].pages.front(), image, channel, as_words ? raster.words.data() : nullptr);
    } else {
      place_channels(reader.read_largest(planes[i]), image, channel);
    }
  }
  if (first.kind() == ColorKind::kPalette) raster.palette = read_tiff_palette(file, first);
  if (whole_pages) invert_if_white(image, first);
  if (first.orientation != ORIENTATION_TOPLEFT) image = orient(image, first.orientation);
  if (!is_stack) return choose_channels(std::move(raster), choice.channels);
  if (layout.explained) raster.stack = taken_shape(layout, choice, channels, names);
  return raster;
}

}  // namespace tessera
