#include "data/decode/image_part.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "data/decode/color.h"
#include "data/decode/jpeg_reader.h"
#include "data/decode/jpeg_window.h"

namespace tessera {
namespace {

// Upsampled colours are made of neighbours, and at the border of what is decoded of the wrong ones.
constexpr int kMargin = 8;

bool has_several_scans(JpegReader& jpeg) {
  return jpeg_has_multiple_scans(&*jpeg) != FALSE;
}

}  // namespace

class PartialImage::Jpeg {
 public:
  Jpeg(std::span<const uint8_t> bytes, const DecodeOptions& options)
      : reader_(bytes, options.exif_orientation, options.max_pixels) {}

  bool can_be_cut() { return reader_.kind() != ColorKind::kCmyk && reader_.orientation() == 1 && !has_several_scans(reader_); }
  Size size() { return {static_cast<int>(reader_->image_height), static_cast<int>(reader_->image_width)}; }
  ColorKind kind() const { return reader_.kind(); }

  ImagePart decode(PixelArea area, std::vector<uint8_t> memory) {
    if (area.empty()) area = {0, 0, 1, 1};
    if (!decode_jpeg_window(*reader_, area, memory)) return decode_by_library(area, std::move(memory));
    ImagePart part;
    part.top = area.top;
    part.left = area.left;
    part.image.height = area.bottom - area.top;
    part.image.width = area.right - area.left;
    part.image.channels = reader_->num_components;
    part.image.pixels = std::move(memory);
    return part;
  }

 private:
  ImagePart decode_by_library(const PixelArea& area, std::vector<uint8_t> memory) {
    jpeg_decompress_struct& jpeg = *reader_;
    jpeg_start_decompress(&jpeg);
    const int height = static_cast<int>(jpeg.output_height), width = static_cast<int>(jpeg.output_width);
    ImagePart part;
    part.top = std::max(0, area.top - kMargin);
    const int bottom = std::min(height, area.bottom + kMargin);
    JDIMENSION left = static_cast<JDIMENSION>(std::max(0, area.left - kMargin));
    JDIMENSION columns = static_cast<JDIMENSION>(std::min(width, area.right + kMargin)) - left;
    if (columns < jpeg.output_width) jpeg_crop_scanline(&jpeg, &left, &columns);
    part.left = static_cast<int>(left);
    if (part.top > 0) jpeg_skip_scanlines(&jpeg, static_cast<JDIMENSION>(part.top));

    Image& image = part.image;
    image.height = bottom - part.top;
    image.width = static_cast<int>(columns);
    image.channels = jpeg.output_components;
    memory.resize(image.count());
    image.pixels = std::move(memory);
    const size_t stride = size_t{columns} * static_cast<size_t>(image.channels);
    for (int y = part.top; y < bottom; ++y) {
      JSAMPROW row = image.bytes().data() + static_cast<size_t>(y - part.top) * stride;
      jpeg_read_scanlines(&jpeg, &row, 1);
    }
    read_rest(jpeg, bottom, stride);
    TSR_CHECK(reader_.orientation() == 1, "JPEG has an EXIF tag behind its pixels");
    jpeg_finish_decompress(&jpeg);
    return part;
  }

  // The bits of the rows below, without making pixels of them: a file that is damaged there is a bad one, whichever part of it
  // is asked for. libjpeg leaves out even that where it is told to skip all.
  static void read_rest(jpeg_decompress_struct& jpeg, int bottom, size_t stride) {
    const JDIMENSION left = jpeg.output_height - static_cast<JDIMENSION>(bottom);
    if (left == 0) return;
    if (left > 1) jpeg_skip_scanlines(&jpeg, left - 1);
    std::vector<uint8_t> last(stride);
    JSAMPROW row = last.data();
    jpeg_read_scanlines(&jpeg, &row, 1);
  }

  JpegReader reader_;
};

PartialImage::PartialImage(std::span<const uint8_t> bytes, const DecodeOptions& options) : channels_(options.channels) {
  if (options.stack.takes_all() && detect_format(bytes) == FileFormat::kJpeg) {
    jpeg_ = std::make_unique<Jpeg>(bytes, options);
    if (!jpeg_->can_be_cut()) jpeg_.reset();
  }
  if (!jpeg_) whole_ = decode_image(bytes, options);
}

PartialImage::~PartialImage() = default;

Size PartialImage::size() const {
  return jpeg_ ? jpeg_->size() : whole_.size();
}

ImagePart PartialImage::decode(const PixelArea& area, std::vector<uint8_t> memory) {
  if (!jpeg_) return {.image = std::move(whole_)};
  ImagePart part = jpeg_->decode(area, std::move(memory));
  if (channels_ != 0 && channels_ != part.image.channels) {
    Raster raster;
    raster.kind = jpeg_->kind();
    raster.image = std::move(part.image);
    part.image = to_channels(std::move(raster), channels_);
  }
  return part;
}

}  // namespace tessera
