#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera {

// What a DICOM file says about its pixels, and where they lie.
struct DicomFile {
  std::string transfer_syntax;  // the UID that says how all that follows is encoded
  std::string photometric;
  std::string modality;
  int64_t rows = 0, columns = 0, frames = 1;
  int64_t samples = 1;
  bool planes_apart = false;  // one sample of all pixels after the other
  int64_t bits_allocated = 0, bits_stored = 0, high_bit = -1;
  bool with_sign = false;
  double slope = 1, intercept = 0;
  bool big_endian = false;
  std::span<const uint8_t> pixels;                  // of a file without compression
  std::vector<std::span<const uint8_t>> fragments;  // else: the compressed frames, without their table of offsets
};

// "DICM" behind a preamble of 128 bytes.
bool looks_like_dicom(std::span<const uint8_t> bytes);

// Walks over the elements up to the pixels; `bytes` must outlive the result. Explicit and implicit, little and big-endian;
// sequences are stepped over. Throws Error for what is damaged or has no pixels.
DicomFile read_dicom_elements(std::span<const uint8_t> bytes);

}  // namespace tessera
