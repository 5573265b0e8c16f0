#include "storage/tar_stream.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/error.h"

namespace tessera {

TarStream::TarStream(Source source, std::string name) : source_(std::move(source)), name_(name), headers_(std::move(name)) {}

void TarStream::read_whole(std::span<uint8_t> to) {
  while (!to.empty()) {
    const size_t got = source_(to.data(), to.size());
    TSR_CHECK(got > 0, "{} is truncated: it ends at byte {} without the empty block that ends an archive", name_, at_);
    at_ += got;
    to = to.subspan(got);
  }
}

void TarStream::pass_over_rest() {
  std::array<uint8_t, 8 * kTarBlock> thrown_away;
  for (uint64_t rest = std::exchange(left_, 0) + std::exchange(padding_, 0); rest > 0;) {
    const auto piece = static_cast<size_t>(std::min<uint64_t>(rest, thrown_away.size()));
    read_whole(std::span(thrown_away).first(piece));
    rest -= piece;
  }
}

std::optional<TarEntry> TarStream::next() {
  pass_over_rest();
  while (true) {
    std::array<uint8_t, kTarBlock> block;
    const uint64_t begin = at_;
    read_whole(block);
    switch (headers_.take(block, begin)) {
      case TarHeaders::Found::kEnd: return std::nullopt;
      case TarHeaders::Found::kText: {
        std::string text(tar_padded(headers_.text_bytes()), '\0');
        read_whole({reinterpret_cast<uint8_t*>(text.data()), text.size()});
        text.resize(headers_.text_bytes());
        headers_.extend(text);
        break;
      }
      case TarHeaders::Found::kEntry:
        left_ = headers_.entry().size;
        padding_ = tar_padded(left_) - left_;
        return std::move(headers_.entry());
    }
  }
}

size_t TarStream::read(std::span<uint8_t> to) {
  const size_t wanted = static_cast<size_t>(std::min<uint64_t>(left_, to.size()));
  if (wanted == 0) return 0;
  read_whole(to.first(wanted));
  left_ -= wanted;
  return wanted;
}

}  // namespace tessera
