#pragma once
#include <cstdint>
#include <filesystem>

#include "data/fetch/public_data.h"

namespace tessera {

// An archive that is here, whole and checked.
struct FetchedArchive {
  std::filesystem::path path;
  bool is_ours = false;  // downloaded by us, not put there by a person

  // When it was unpacked: ours goes, or gets its own name where it is to be kept.
  void settle(bool keep) const;
};

// The archive in `work`: what a person put there, else downloaded, gone on with where an earlier call was stopped. Throws Error
// that says where to put it by hand.
FetchedArchive fetch_archive(const PublicFile& file, const std::filesystem::path& work);

// How much of it is in `work`.
uint64_t bytes_here(const PublicFile& file, const std::filesystem::path& work);

}  // namespace tessera
