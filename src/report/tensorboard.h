#pragma once
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/access.h"

namespace tessera {

// Writes scalars, pictures and texts that TensorBoard shows. Thread-safe. One event file per writer, named
// events.out.tfevents.<unix time>.<host>.<pid>; a run that is resumed gets a further file in the same folder.
class TensorBoardWriter {
 public:
  // Makes the folder if absent. `purge_from`: what earlier files hold from this step on is no longer shown; pass the
  // first step that will be done again after a resume. Throws Error with the path and the system's reason.
  explicit TensorBoardWriter(const std::filesystem::path& folder, std::optional<int64_t> purge_from = std::nullopt,
                             Access access = Access::kUmask);
  ~TensorBoardWriter();  // flushes; logs and goes on when the disk refuses
  TensorBoardWriter(const TensorBoardWriter&) = delete;
  TensorBoardWriter& operator=(const TensorBoardWriter&) = delete;

  // Each throws Error when the event cannot be written.
  void scalar(std::string_view tag, double value, int64_t step);
  void image(std::string_view tag, std::span<const uint8_t> png, int height, int width, int64_t step);
  void text(std::string_view tag, std::string_view markdown, int64_t step);

  void flush();

  const std::filesystem::path& path() const { return path_; }

 private:
  void append(const std::string& event);

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::filesystem::path path_;
  std::mutex mutex_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace tessera
