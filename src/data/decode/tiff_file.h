#pragma once
#include <tiffio.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

// An open TIFF in memory. libtiff's warnings are dropped and its error texts kept for our messages, per file: nothing of
// its global handlers is touched, so many threads may decode at once.
class TiffFile {
 public:
  // `bytes` must outlive the object. Throws Error when it is no readable TIFF.
  explicit TiffFile(std::span<const uint8_t> bytes);
  ~TiffFile();
  TiffFile(const TiffFile&) = delete;
  TiffFile& operator=(const TiffFile&) = delete;

  TIFF* get() const { return tiff_; }
  size_t size() const { return source_.bytes.size(); }
  std::span<const uint8_t> bytes() const { return source_.bytes; }

  // Makes page `number` (from 0) the current one. Throws Error when its directory is damaged.
  void go_to(tdir_t number) const;

  // Throws "TIFF <what>: <libtiff's own words>; get it again".
  [[noreturn]] void fail_with(std::string_view what) const;

 private:
  struct Source {
    std::span<const uint8_t> bytes;
    uint64_t position = 0;
    std::string error;

    static tmsize_t read(thandle_t handle, void* to, tmsize_t size);
    static tmsize_t write(thandle_t handle, void* from, tmsize_t size);
    static toff_t seek(thandle_t handle, toff_t offset, int whence);
    static int close(thandle_t handle);
    static toff_t length(thandle_t handle);
    static int on_error(TIFF* tiff, void* user, const char* module, const char* format, va_list args);
    static int on_warning(TIFF* tiff, void* user, const char* module, const char* format, va_list args);
  };

  Source source_;
  TIFF* tiff_ = nullptr;
};

}  // namespace tessera
