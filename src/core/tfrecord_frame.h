#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// TFRecord, the file format of TensorFlow's data and of TensorBoard's events: each record is its length (8 bytes), the masked
// CRC-32C of those, the data, and the masked CRC-32C of the data.
inline constexpr size_t kTfRecordFrameBytes = 16;  // what a record takes beside its data

void put_tfrecord(std::string& file, std::string_view data);

// Where the data of a record lies in its file; its checksum comes behind it.
struct TfRecordPlace {
  uint64_t offset = 0;
  uint64_t size = 0;
};

// All records of a file by their lengths, whose checksums are compared; those of the data are not. Throws Error naming `name`
// and the record where a length is damaged or the file ends too early.
std::vector<TfRecordPlace> find_tfrecords(std::span<const uint8_t> file, const std::string& name);

// The data at a place that find_tfrecords gave. Throws Error where its checksum is wrong, or where it is not in the file.
std::span<const uint8_t> checked_tfrecord(std::span<const uint8_t> file, TfRecordPlace place);

// Whether a file begins with a record.
bool looks_like_tfrecord(std::span<const uint8_t> file);

}  // namespace tessera
