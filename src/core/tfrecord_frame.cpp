#include "core/tfrecord_frame.h"

#include "core/byte_reader.h"
#include "core/crc32c.h"

namespace tessera {
namespace {

constexpr size_t kLengthBytes = 8, kChecksumBytes = 4, kHeadBytes = kLengthBytes + kChecksumBytes;

template <class Integer>
void put_little_endian(std::string& out, Integer value) {
  for (size_t i = 0; i < sizeof(value); ++i) out.push_back(static_cast<char>((value >> (8 * i)) & 0xFFU));
}

uint32_t masked(std::span<const uint8_t> bytes) {
  return mask_crc32c(crc32c(bytes));
}

}  // namespace

void put_tfrecord(std::string& file, std::string_view data) {
  const size_t begin = file.size();
  put_little_endian(file, static_cast<uint64_t>(data.size()));
  put_little_endian(file, mask_crc32c(crc32c(std::string_view(file).substr(begin))));
  file += data;
  put_little_endian(file, mask_crc32c(crc32c(data)));
}

std::vector<TfRecordPlace> find_tfrecords(std::span<const uint8_t> file, const std::string& name) {
  std::vector<TfRecordPlace> places;
  ByteReader in(file, name);
  while (in.left() > 0) {
    const auto length_bytes = in.take(kLengthBytes);
    const auto checksum = in.number<uint32_t>();
    TSR_CHECK(checksum == masked(length_bytes),
              "{} is damaged: the checksum of the length of record {} (at byte {}) does not match; where the records after it "
              "begin is not known, get the file again",
              name, places.size(), in.position() - kHeadBytes);
    const auto size = ByteReader(length_bytes, name).number<uint64_t>();
    TSR_CHECK(in.left() >= kChecksumBytes && size <= in.left() - kChecksumBytes,
              "{} is truncated: record {} has {} bytes, {} are left", name, places.size(), size, in.left());
    places.push_back({in.position(), size});
    in.skip(size + kChecksumBytes);
  }
  return places;
}

std::span<const uint8_t> checked_tfrecord(std::span<const uint8_t> file, TfRecordPlace place) {
  TSR_CHECK(place.offset <= file.size() && place.size <= file.size() - place.offset &&
                file.size() - place.offset - place.size >= kChecksumBytes,
            "it should have {} bytes from byte {} on, the file has {}", place.size, place.offset, file.size());
  const auto data = file.subspan(place.offset, place.size);
  ByteReader behind(file.subspan(place.offset + place.size, kChecksumBytes), "");
  TSR_CHECK(behind.number<uint32_t>() == masked(data), "its checksum does not match: it is damaged, get the file again");
  return data;
}

bool looks_like_tfrecord(std::span<const uint8_t> file) {
  if (file.size() < kTfRecordFrameBytes) return false;
  ByteReader checksum(file.subspan(kLengthBytes, kChecksumBytes), "");
  return checksum.number<uint32_t>() == masked(file.first(kLengthBytes));
}

}  // namespace tessera
