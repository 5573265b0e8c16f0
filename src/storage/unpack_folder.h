#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <unordered_set>

#include "core/descriptor.h"
#include "storage/unpack.h"

namespace tessera {

// Where an archive's entries become files: checks names and sizes. Throws Error that names archive and entry.
class UnpackFolder {
 public:
  UnpackFolder(std::filesystem::path folder, std::string archive, uint64_t archive_bytes, const UnpackOptions& options);

  // False: the entry is not wanted, by options.strip or as it is what another system keeps beside the files.
  bool begin_file(const std::string& name);
  void write(std::span<const uint8_t> content);
  void end_file();

  void add_folder(const std::string& name);
  [[noreturn]] void refuse_link(const std::string& name) const;

  // Flushes all of it.
  Unpacked finish();

 private:
  std::filesystem::path place_of(const std::string& name) const;  // empty: not wanted
  void make_folder(const std::filesystem::path& folder);

  std::filesystem::path root_;
  std::string archive_;
  uint64_t most_;
  std::string strip_;
  std::unordered_set<std::string> folders_;
  std::filesystem::path open_path_;
  Descriptor open_;
  Unpacked done_;
};

}  // namespace tessera
