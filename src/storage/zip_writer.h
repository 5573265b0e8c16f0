#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera {

// Writes a ZIP file of stored entries into memory; zip64 fields where sizes or offsets need them.
class ZipWriter {
 public:
  // Sizes and offsets from `zip64_from` on go to zip64 fields (a test lowers it).
  explicit ZipWriter(uint64_t zip64_from = 0xFFFFFFFF) : zip64_from_(zip64_from) {}

  // `alignment`: of the content in the file, by padding before it.
  void add(const std::string& name, std::span<const uint8_t> content, size_t alignment = 1);
  std::vector<uint8_t> finish();

 private:
  struct Entry {
    std::string name;
    uint32_t crc;
    uint64_t size, header;
  };

  template <class T>
  void put(T value) {
    for (size_t i = 0; i < sizeof(T); ++i) file_.push_back(static_cast<uint8_t>(static_cast<uint64_t>(value) >> (8 * i)));
  }
  void put_common(uint32_t crc, uint64_t size, size_t name_length, size_t extra_length, uint16_t version);

  uint64_t zip64_from_;
  std::vector<uint8_t> file_;
  std::vector<Entry> entries_;
};

}  // namespace tessera
