// libFuzzer target: tar shards, their samples read as they are found and with places that an index might wrongly give, and the
// same archives as a stream. Only an Error may come out, and both ways of reading see the same files. Checksums of headers are
// set right first: no mutation keeps them.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "data/records/tar_format.h"
#include "data/sample.h"
#include "storage/tar.h"
#include "storage/tar_stream.h"

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

using Content = std::vector<std::pair<std::string, std::vector<uint8_t>>>;

// Nothing where the archive is damaged.
std::optional<Content> in_memory(std::span<const uint8_t> bytes) {
  Content found;
  try {
    tessera::TarReader reader(bytes, "fuzz");
    while (const auto member = reader.next()) {
      const auto content = bytes.subspan(member->offset, member->size);
      found.emplace_back(member->name, std::vector<uint8_t>(content.begin(), content.end()));
    }
  } catch (const tessera::Error&) {
    return std::nullopt;
  }
  return found;
}

std::optional<Content> as_stream(std::span<const uint8_t> bytes) {
  Content found;
  try {
    tessera::TarStream stream(
        [&](uint8_t* to, size_t most) {
          const size_t some = std::min(most, bytes.size());
          std::copy_n(bytes.begin(), some, to);
          bytes = bytes.subspan(some);
          return some;
        },
        "fuzz");
    while (const auto entry = stream.next()) {
      if (entry->kind != tessera::TarEntry::Kind::kFile) continue;
      std::vector<uint8_t> content;
      std::array<uint8_t, 100> piece;
      while (const size_t got = stream.read(piece)) content.insert(content.end(), piece.begin(), piece.begin() + got);
      found.emplace_back(entry->name, std::move(content));
    }
  } catch (const tessera::Error&) {
    return std::nullopt;
  }
  return found;
}

void read_all(const tessera::Blob& file) {
  if (in_memory(file.bytes) != as_stream(file.bytes)) std::abort();
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
