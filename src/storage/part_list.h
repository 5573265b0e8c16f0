#pragma once
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/access.h"
#include "core/descriptor.h"

namespace tessera {

// Which parts of a file are there, kept beside it so that a later process goes on. Thread-safe.
class PartList {
 public:
  // The list at `path`, if it is of the same file (mark, sizes), else a new one with nothing there. Throws Error.
  PartList(const std::filesystem::path& path, const std::string& mark, int64_t total, int64_t part_bytes, Access access);

  int64_t count() const { return static_cast<int64_t>(state_.size()); }
  int64_t bytes_there() const;

  // A part that is neither there nor taken; nothing where there is none left.
  std::optional<int64_t> take();
  int64_t begin_of(int64_t part) const { return part * part_bytes_; }
  int64_t end_of(int64_t part) const { return std::min(total_, (part + 1) * part_bytes_); }

  void give_back(int64_t part);

  // It is on the disk. Throws Error.
  void note(int64_t part);

 private:
  enum class State : uint8_t { kMissing, kTaken, kThere };
  bool read(const std::filesystem::path& path, const std::string& head);
  void append(const std::string& text);

  int64_t total_, part_bytes_;
  mutable std::mutex mutex_;
  std::vector<State> state_;
  Descriptor file_;
};

}  // namespace tessera
