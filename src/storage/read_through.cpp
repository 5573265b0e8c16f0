#include "storage/read_through.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

#include "core/memory_limit.h"

namespace tessera {
namespace {

constexpr size_t kBuffer = 256 << 10;   // read and thrown away: small enough to stay in the processor's cache
constexpr size_t kSmallest = 16 << 20;  // smaller files are there at once
constexpr size_t kSamples = 64;

size_t page_bytes() {
  return static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

bool mostly_there(const void* mapping, size_t size) {
  size_t absent = 0;
  for (size_t i = 0; i < kSamples; ++i) {
    unsigned char there = 0;
    auto* at = static_cast<uint8_t*>(const_cast<void*>(mapping)) + size / kSamples * i / page_bytes() * page_bytes();
    if (::mincore(at, page_bytes(), &there) == 0 && (there & 1) == 0) ++absent;
  }
  return absent <= kSamples / 8;
}

}  // namespace

void read_through(int file, const void* mapping, size_t size) {
  const auto memory = static_cast<size_t>(memory_limit());
  if (size < kSmallest || size > memory / 2 || mostly_there(mapping, size)) return;
  std::vector<char> buffer(kBuffer);
  // A failed read is not this function's to report: the mapping shows what there is.
  for (size_t at = 0; at < size; at += kBuffer) {
    if (::pread(file, buffer.data(), kBuffer, static_cast<off_t>(at)) <= 0) return;
  }
}

}  // namespace tessera
