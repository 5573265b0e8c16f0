#include "data/decode/tiff_file.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>

#include "core/error.h"

namespace tessera {
namespace {

// No single table or strip of a picture within our limits needs more.
constexpr tmsize_t kMaxAllocation = tmsize_t{1} << 30;

}  // namespace

tmsize_t TiffFile::Source::read(thandle_t handle, void* to, tmsize_t size) {
  auto& source = *static_cast<Source*>(handle);
  if (size <= 0 || source.position >= source.bytes.size()) return 0;
  const uint64_t left = source.bytes.size() - source.position;
  const auto count = static_cast<size_t>(std::min<uint64_t>(left, static_cast<uint64_t>(size)));
  std::memcpy(to, source.bytes.data() + source.position, count);
  source.position += count;
  return static_cast<tmsize_t>(count);
}

tmsize_t TiffFile::Source::write(thandle_t, void*, tmsize_t) {
  return 0;
}

toff_t TiffFile::Source::seek(thandle_t handle, toff_t offset, int whence) {
  auto& source = *static_cast<Source*>(handle);
  if (whence == SEEK_SET) source.position = offset;
  if (whence == SEEK_CUR) source.position += offset;
  if (whence == SEEK_END) source.position = source.bytes.size() + offset;
  return source.position;
}

int TiffFile::Source::close(thandle_t) {
  return 0;
}

toff_t TiffFile::Source::length(thandle_t handle) {
  return static_cast<Source*>(handle)->bytes.size();
}

int TiffFile::Source::on_error(TIFF*, void* user, const char*, const char* format, va_list args) {
  // The first error is the cause; what follows are its consequences.
  std::string& error = static_cast<Source*>(user)->error;
  if (!error.empty()) return 1;
  std::array<char, 256> text{};
  std::vsnprintf(text.data(), text.size(), format, args);
  error = text.data();
  while (!error.empty() && (error.back() == '.' || error.back() == '\n')) error.pop_back();
  return 1;
}

int TiffFile::Source::on_warning(TIFF*, void*, const char*, const char*, va_list) {
  return 1;
}

TiffFile::TiffFile(std::span<const uint8_t> bytes) : source_{bytes, 0, {}} {
  const std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)> options(TIFFOpenOptionsAlloc(), TIFFOpenOptionsFree);
  TSR_CHECK(options != nullptr, "TIFF cannot be decoded: out of memory");
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), kMaxAllocation);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), Source::on_error, &source_);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), Source::on_warning, &source_);
  // "m": no memory mapping; copying strips costs little and keeps every read inside the checks of `read`.
  tiff_ = TIFFClientOpenExt("image", "rm", &source_, Source::read, Source::write, Source::seek, Source::close, Source::length,
                            nullptr, nullptr, options.get());
  if (tiff_ == nullptr) fail_with("cannot be read");
}

TiffFile::~TiffFile() {
  if (tiff_ != nullptr) TIFFClose(tiff_);
}

void TiffFile::go_to(tdir_t number) const {
  if (TIFFCurrentDirectory(tiff_) == number) return;
  if (TIFFSetDirectory(tiff_, number) != 1) fail_with(fmt::format("has a damaged page {}", number + 1));
}

void TiffFile::fail_with(std::string_view what) const {
  fail("TIFF {}: {}; get it again or convert it to PNG", what,
       source_.error.empty() ? "it is truncated or corrupt" : source_.error);
}

}  // namespace tessera
