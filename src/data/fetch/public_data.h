#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace tessera {

// One archive of a data set as its publisher has it.
struct PublicFile {
  std::string url;
  int64_t bytes = -1;          // -1: not known
  std::string algorithm = {};  // of the digest: "md5", "sha1", "sha256"; empty: none is published, the archive's own checks
  std::string digest = {};     // must do
  std::string strip = {};      // the folder in the archive that becomes the data set's root

  std::string name() const { return url.substr(url.rfind('/') + 1); }
};

// What is done to the unpacked files before they are a data set that a config can name.
enum class Arrangement {
  kAsPacked,
  kMergeObjects,  // ID/images/ID.png and ID/masks/*.png, one for each object, become images/ID.png and masks/ID.png
};

struct PublicData {
  std::string name;  // for the command line
  std::string title;
  std::string folder;                // what its root is called, below the folder of all data sets
  std::string licence, licence_url;  // in short, and where it is
  std::vector<PublicFile> files;
  std::vector<std::string> has;  // what must be below the root once it is there
  Arrangement arrangement = Arrangement::kAsPacked;
  std::string config = {};  // that reads it

  int64_t known_bytes() const;  // of all files whose size is known
};

// The data sets that `tessera data fetch` knows.
const std::vector<PublicData>& public_data();

// Further ones from a YAML or JSON file: Note [Catalogue file]. Throws UsageError.
std::vector<PublicData> read_catalogue(const std::filesystem::path& file);

// Throws UsageError, with the nearest name, where there is none of this name.
const PublicData& find_public_data(std::span<const PublicData> all, const std::string& name);

// The data set whose folder is the end of `path`; null where there is none.
const PublicData* public_data_at(std::span<const PublicData> all, const std::filesystem::path& path);

}  // namespace tessera
