#include "data/decode/dicom.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "data/decode/dicom_elements.h"
#include "data/decode/dicom_rle.h"
#include "data/decode/jpeg.h"
#include "data/decode/jpeg2000.h"

namespace tessera {
namespace {

constexpr int64_t kMaxFrames = 1 << 16;

enum class Packing { kNone, kRunLength, kJpeg, kJpeg2000 };

Packing packing_of(const std::string& syntax) {
  if (syntax == "1.2.840.10008.1.2" || syntax == "1.2.840.10008.1.2.1" || syntax == "1.2.840.10008.1.2.2")
    return Packing::kNone;
  if (syntax == "1.2.840.10008.1.2.5") return Packing::kRunLength;
  if (syntax == "1.2.840.10008.1.2.4.50" || syntax == "1.2.840.10008.1.2.4.51") return Packing::kJpeg;
  if (syntax == "1.2.840.10008.1.2.4.90" || syntax == "1.2.840.10008.1.2.4.91") return Packing::kJpeg2000;
  fail(
      "DICOM has the transfer syntax {}: expected no compression, run-length, JPEG baseline or JPEG 2000; decompress it, for "
      "example with dcmdjpeg (JPEG lossless), dcmdjpls (JPEG-LS) or gdcmconv --raw",
      syntax);
}

void check_file(DicomFile& file, Packing packing) {
  const bool grey = file.photometric == "MONOCHROME1" || file.photometric == "MONOCHROME2";
  // The two libraries turn what they stored as YBR into RGB themselves.
  const bool colour = file.photometric == "RGB" ||
                      (file.photometric.starts_with("YBR_") && (packing == Packing::kJpeg || packing == Packing::kJpeg2000));
  TSR_CHECK((grey && file.samples == 1) || (colour && file.samples == 3),
            "DICOM is {} of {} samples: expected MONOCHROME1 or MONOCHROME2 of 1, or RGB of 3; convert it to PNG",
            file.photometric, file.samples);
  const int64_t bits = file.bits_allocated;
  TSR_CHECK((bits == 8 || bits == 16 || bits == 32) && file.bits_stored >= 1 && file.bits_stored <= bits,
            "DICOM stores {} bits in {}: expected up to 8, 16 or 32; convert it to PNG", file.bits_stored, bits);
  if (file.high_bit < 0) file.high_bit = file.bits_stored - 1;
  TSR_CHECK(file.high_bit < bits && file.high_bit + 1 >= file.bits_stored,
            "DICOM has bit {} as the highest of {} in {}; the file is damaged", file.high_bit, file.bits_stored, bits);
  TSR_CHECK(!colour || (bits == 8 && file.bits_stored == 8 && !file.with_sign),
            "DICOM is colour of {} bits: expected 8; convert it to PNG", file.bits_stored);
  TSR_CHECK(file.frames >= 1 && file.frames <= kMaxFrames, "DICOM says {} frames: expected 1 to {}; the file is damaged",
            file.frames, kMaxFrames);
}

// Values side by side, little-endian or as the file says, to numbers of `bits_stored` bits.
Image unpack_values(std::span<const uint8_t> bytes, const DicomFile& file, bool big_endian, bool planes_apart) {
  Image image(static_cast<int>(file.rows), static_cast<int>(file.columns), static_cast<int>(file.samples));
  const auto size = static_cast<size_t>(file.bits_allocated) / 8;
  const auto pixels = static_cast<size_t>(file.rows * file.columns), samples = static_cast<size_t>(file.samples);
  const auto stored = [&](size_t pixel, size_t sample) {
    const uint8_t* at = bytes.data() + size * (planes_apart ? sample * pixels + pixel : pixel * samples + sample);
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i) value = value << 8 | at[big_endian ? i : size - 1 - i];
    value = value >> (file.high_bit + 1 - file.bits_stored) & ((uint64_t{1} << file.bits_stored) - 1);
    const bool negative = file.with_sign && (value >> (file.bits_stored - 1) & 1) != 0;
    return static_cast<int64_t>(value) - (negative ? int64_t{1} << file.bits_stored : 0);
  };
  const auto store = [&](auto& to) {
    for (size_t i = 0; i < to.size(); ++i) {
      to[i] = static_cast<typename std::decay_t<decltype(to)>::value_type>(stored(i / samples, i % samples));
    }
  };
  if (file.bits_stored == 8 && !file.with_sign) {
    store(image.bytes());
  } else {
    store(image.pixels.emplace<std::vector<float>>(image.count()));
  }
  return image;
}

// Frames that were compressed one by one; a single one may lie in several fragments.
std::vector<uint8_t> frame_bytes(const DicomFile& file, size_t number) {
  TSR_CHECK(
      file.frames == 1 || file.fragments.size() == static_cast<size_t>(file.frames),
      "DICOM has {} compressed frames in {} fragments: expected one for each; decompress it, for example with gdcmconv --raw",
      file.frames, file.fragments.size());
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < file.fragments.size(); ++i) {
    if (file.frames == 1 || i == number) bytes.insert(bytes.end(), file.fragments[i].begin(), file.fragments[i].end());
  }
  return bytes;
}

Image read_frame(const DicomFile& file, Packing packing, size_t number, uint64_t max_pixels) {
  const auto pixels = static_cast<size_t>(file.rows * file.columns), samples = static_cast<size_t>(file.samples);
  const size_t value_size = static_cast<size_t>(file.bits_allocated) / 8, size = pixels * samples * value_size;
  if (packing == Packing::kNone) {
    TSR_CHECK(file.fragments.empty() && number < file.pixels.size() / size,
              "DICOM is truncated: frame {} of {} x {} pixels is not in its {} bytes of pixel data; get it again", number,
              file.columns, file.rows, file.pixels.size());
    return unpack_values(file.pixels.subspan(number * size, size), file, file.big_endian, file.planes_apart);
  }
  TSR_CHECK(!file.fragments.empty(), "DICOM says its pixels are compressed, but they are stored plain; the file is damaged");
  const std::vector<uint8_t> packed = frame_bytes(file, number);
  if (packing == Packing::kRunLength) {
    // A byte of run lengths stands for at most 128 and has one beside it.
    TSR_CHECK(size / 64 <= packed.size(), "DICOM is truncated: {} x {} pixels do not fit into {} bytes; get it again",
              file.columns, file.rows, packed.size());
    return unpack_values(unpack_dicom_rle(packed, pixels, samples, value_size), file, false, false);
  }
  Image image =
      packing == Packing::kJpeg ? decode_jpeg(packed, false, max_pixels).image : decode_jpeg2000(packed, max_pixels).image;
  TSR_CHECK(image.height == file.rows && image.width == file.columns && image.channels == file.samples,
            "DICOM says {} x {} pixels of {} samples, its compressed frame has {} x {} of {}; the file is damaged",
            file.columns, file.rows, file.samples, image.width, image.height, image.channels);
  return image;
}

// 0 becomes black; then the unit that slope and intercept give.
void make_real(Image& image, const DicomFile& file, bool in_units) {
  const double range = static_cast<double>(uint64_t{1} << file.bits_stored);
  // Of unsigned values 0 and the largest change places, of signed ones the smallest and the largest.
  const double mirrored = file.with_sign ? -1.0 : range - 1;
  const bool inverted = file.photometric == "MONOCHROME1";
  if (image.is_bytes() && in_units) {
    std::vector<float> values(image.bytes().begin(), image.bytes().end());
    image.pixels = std::move(values);
  }
  if (image.is_bytes()) {
    if (inverted)
      std::for_each(image.bytes().begin(), image.bytes().end(), [](uint8_t& v) { v = static_cast<uint8_t>(255 - v); });
    return;
  }
  image.max_value = in_units ? 1.0F : static_cast<float>((file.with_sign ? range / 2 : range) - 1);
  if (!inverted && !in_units) return;
  for (float& v : image.floats()) {
    const double stored = inverted ? mirrored - v : static_cast<double>(v);
    v = static_cast<float>(stored * file.slope + file.intercept);
  }
}

}  // namespace

Raster decode_dicom(std::span<const uint8_t> bytes, uint64_t max_pixels, const StackChoice& choice) {
  DicomFile file = read_dicom_elements(bytes);
  const Packing packing = packing_of(file.transfer_syntax);
  check_file(file, packing);
  chosen_planes(choice.t, 1, "t");
  const std::vector<int> frames = chosen_planes(choice.z, static_cast<int>(file.frames), "z");
  const bool largest = choice.z.kind == PlaneChoice::Kind::kMax;
  const size_t planes = largest ? 1 : frames.size();
  TSR_CHECK(planes * static_cast<size_t>(file.samples) <= kMaxChannels,
            "DICOM gives {} frames: expected up to {} channels; choose with data.image.z=middle, max or a number",
            frames.size(), kMaxChannels);
  check_dimensions("DICOM", static_cast<uint64_t>(file.columns), static_cast<uint64_t>(file.rows),
                   planes * static_cast<size_t>(file.samples), sizeof(float), max_pixels);

  const bool in_units =
      file.samples == 1 && (file.slope != 1 || file.intercept != 0 || file.modality == "CT" || file.modality == "PT");
  Raster raster;
  raster.bits = static_cast<int>(std::max<int64_t>(file.bits_stored, 8));
  raster.with_sign = file.with_sign;
  raster.kind = planes > 1 ? ColorKind::kStack : file.samples == 3 ? ColorKind::kRgb : ColorKind::kGrey;
  for (size_t i = 0; i < frames.size(); ++i) {
    Image frame = read_frame(file, packing, static_cast<size_t>(frames[i]), max_pixels);
    make_real(frame, file, in_units);
    TSR_CHECK(i == 0 || frame.is_bytes() == raster.image.is_bytes(),
              "DICOM has frames of 8 bits beside deeper ones: expected one depth; the file is damaged");
    if (i == 0) {
      raster.image = planes == 1 ? std::move(frame) : widened(frame, static_cast<int>(planes));
    } else if (largest) {
      take_larger(raster.image, frame);
    } else {
      place_channels(frame, raster.image, static_cast<int>(i) * frame.channels);
    }
  }
  if (file.frames > 1 && choice.channels.empty())
    raster.stack = {static_cast<int>(file.samples), static_cast<int>(planes), 1, color_names(raster.kind)};
  return choose_channels(std::move(raster), choice.channels);
}

}  // namespace tessera
