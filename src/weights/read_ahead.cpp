#include "weights/read_ahead.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace tessera {
namespace {

constexpr int kThreads = 2;
constexpr size_t kPiece = 4 << 20;      // what a thread takes at a time
constexpr size_t kBuffer = 256 << 10;   // read and thrown away: small enough to stay in the processor's cache
constexpr size_t kSmallest = 16 << 20;  // smaller files are there before threads are
constexpr size_t kSamples = 64;

}  // namespace

ReadAhead::ReadAhead(int file, size_t size) {
  for (int i = 0; i < kThreads; ++i) threads_.emplace_back([=, this] { run(file, size); });
}

ReadAhead::~ReadAhead() {
  stopped_ = true;
  for (std::thread& thread : threads_) thread.join();
}

bool ReadAhead::pays(const void* mapping, size_t size) {
  if (size < kSmallest) return false;
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  size_t absent = 0;
  for (size_t i = 0; i < kSamples; ++i) {
    unsigned char there = 0;
    auto* at = static_cast<char*>(const_cast<void*>(mapping)) + size / kSamples * i / page * page;
    if (::mincore(at, page, &there) == 0 && (there & 1) == 0) ++absent;
  }
  return absent > kSamples / 8;
}

void ReadAhead::run(int file, size_t size) {
  std::vector<char> buffer(kBuffer);
  while (!stopped_) {
    const size_t from = next_.fetch_add(kPiece);
    if (from >= size) return;
    const size_t to = std::min(size, from + kPiece);
    for (size_t at = from; at < to && !stopped_; at += kBuffer) {
      if (::pread(file, buffer.data(), std::min(kBuffer, to - at), static_cast<off_t>(at)) <= 0) return;
    }
  }
}

}  // namespace tessera
