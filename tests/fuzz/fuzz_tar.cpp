// libFuzzer target: tar shards, their samples read as they are found and with places that an index might wrongly give. Only an
// Error may come out. Checksums of headers are set right first: no mutation keeps them.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "core/error.h"
#include "data/records/tar_format.h"
#include "data/sample.h"
#include "storage/tar.h"

namespace {

// Of every block, as each may come to be read as a header.
std::vector<uint8_t> with_checksums(std::vector<uint8_t> archive) {
  constexpr size_t kChecksum = 148, kLength = 8;
  for (size_t block = 0; block + tessera::kTarBlock <= archive.size(); block += tessera::kTarBlock) {
    unsigned sum = kLength * ' ';
    bool empty = true;
    for (size_t i = 0; i < tessera::kTarBlock; ++i) {
      const uint8_t byte = archive[block + i];
      empty = empty && byte == 0;
      if (i < kChecksum || i >= kChecksum + kLength) sum += byte;
    }
    if (!empty) std::snprintf(reinterpret_cast<char*>(&archive[block + kChecksum]), kLength, "%06o", sum);
  }
  return archive;
}

void read_all(const tessera::Blob& file) {
  static const tessera::TarFormat format{tessera::member_names({})};
  try {
    for (tessera::RecordPlace place : format.places(file.bytes, "fuzz")) {
      for (const uint64_t shift : {0U, 1U, 512U}) {
        place.offset += shift;
        try {
          format.read(file, place, "id", "fuzz");
        } catch (const tessera::BadSample&) {
        }
      }
    }
  } catch (const tessera::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  read_all({{data, size}, nullptr});
  read_all(tessera::own_bytes(with_checksums({data, data + size})));
  return 0;
}
