#include "data/decode/dicom_rle.h"

#include <algorithm>

#include "core/byte_reader.h"
#include "core/error.h"

namespace tessera {
namespace {

constexpr size_t kMostSegments = 15;

// PackBits: a byte n below 128 stands before n + 1 bytes to copy, one above it before a byte to repeat 257 - n times.
void unpack_segment(std::span<const uint8_t> packed, std::vector<uint8_t>& out, size_t first, size_t step, size_t count) {
  size_t done = 0;
  for (size_t at = 0; done < count;) {
    TSR_CHECK(at + 1 < packed.size(), "DICOM is truncated: a run-length segment ends after {} of {} pixels; get it again", done,
              count);
    const uint8_t n = packed[at++];
    if (n == 128) continue;
    const bool repeats = n > 128;
    const size_t length = std::min<size_t>(repeats ? 257U - n : n + 1U, count - done);
    TSR_CHECK(repeats || length <= packed.size() - at,
              "DICOM is truncated: a run-length segment ends after {} of {} pixels; get it again", done, count);
    for (size_t i = 0; i < length; ++i) out[first + (done + i) * step] = packed[repeats ? at : at + i];
    at += repeats ? 1 : length;
    done += length;
  }
}

}  // namespace

std::vector<uint8_t> unpack_dicom_rle(std::span<const uint8_t> frame, size_t pixels, size_t samples, size_t bytes_per_value) {
  ByteReader header(frame, "DICOM's run-length frame");
  const size_t segments = samples * bytes_per_value, step = segments;
  const auto count = header.number<uint32_t>();
  TSR_CHECK(count == segments && segments <= kMostSegments,
            "DICOM has {} run-length segments: expected {}; the file is damaged", count, segments);
  std::vector<uint8_t> out(pixels * step);
  for (size_t i = 0; i < segments; ++i) {
    const size_t start = header.number<uint32_t>();
    TSR_CHECK(start <= frame.size(), "DICOM is truncated: run-length segment {} lies beyond its frame; get it again", i);
    // The most significant byte of a value comes first.
    const size_t sample = i / bytes_per_value, byte = bytes_per_value - 1 - i % bytes_per_value;
    unpack_segment(frame.subspan(start), out, sample * bytes_per_value + byte, step, pixels);
  }
  return out;
}

}  // namespace tessera
