#include "storage/gunzip.h"

#include <zlib.h>

#include <algorithm>
#include <memory>

#include "core/error.h"

namespace tessera {
namespace {

constexpr uint64_t kUnpackFactor = 20, kUnpackAlways = 64 << 20;
constexpr int kEitherFormat = MAX_WBITS + 32;

}  // namespace

bool looks_like_gzip(std::span<const uint8_t> bytes) {
  return bytes.size() >= 3 && bytes[0] == 0x1F && bytes[1] == 0x8B && bytes[2] == 8;
}

// Deflate with any window, and a check of the two bytes.
bool looks_like_zlib(std::span<const uint8_t> bytes) {
  return bytes.size() >= 2 && (bytes[0] & 0x8FU) == 8 && (bytes[0] * 256U + bytes[1]) % 31 == 0;
}

std::vector<uint8_t> gunzip(std::span<const uint8_t> packed, const std::string& name) {
  constexpr size_t kStep = 1 << 30;  // zlib counts in 32 bits
  const uint64_t most = kUnpackAlways + kUnpackFactor * packed.size();
  z_stream stream{};
  TSR_CHECK(inflateInit2(&stream, kEitherFormat) == Z_OK, "zlib could not be started");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, inflateEnd);
  std::vector<uint8_t> content(packed.size() + packed.size() / 8 + 4096);
  size_t taken = 0, made = 0;
  while (true) {
    if (made == content.size()) {
      TSR_CHECK(made < most, "{} ({} bytes) unpacks to more than {} bytes; images do not shrink like that, it is not trusted",
                name, packed.size(), most);
      content.resize(std::min<uint64_t>(2 * content.size(), most));
    }
    stream.next_in = const_cast<uint8_t*>(packed.data() + taken);
    stream.avail_in = static_cast<uInt>(std::min(packed.size() - taken, kStep));
    stream.next_out = content.data() + made;
    stream.avail_out = static_cast<uInt>(std::min(content.size() - made, kStep));
    const uInt in_before = stream.avail_in, out_before = stream.avail_out;
    const int status = ::inflate(&stream, Z_NO_FLUSH);
    taken += in_before - stream.avail_in;
    made += out_before - stream.avail_out;
    if (status == Z_STREAM_END) {
      if (!looks_like_gzip(packed.subspan(taken))) break;
      inflateReset(&stream);
      continue;
    }
    const bool moved = stream.avail_in != in_before || stream.avail_out != out_before;
    TSR_CHECK((status == Z_OK || status == Z_BUF_ERROR) && (moved || stream.avail_out == 0), "{} is {}: it does not unpack{}",
              name, taken == packed.size() ? "truncated" : "damaged",
              stream.msg == nullptr ? "" : fmt::format(" ({})", stream.msg));
  }
  content.resize(made);
  return content;
}

}  // namespace tessera
