#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// Note [MDS]
// A folder of shards as mosaicml-streaming writes and reads them. `index.json` lists the shards: their columns, files, sizes
// and hashes. A shard, after decompression, all numbers little-endian:
//   u32 samples N
//   u32 offset[N + 1]   of the samples in the file, the last is the end
//   JSON                the columns again, and how the shard was written
//   samples             u32 size of each column that has no fixed one, then the bytes of all columns, in order of their names

inline constexpr const char* kMdsIndexName = "index.json";

struct MdsColumn {
  std::string name;
  std::string encoding;  // "jpeg", "ndarray:uint8:32,32": see mds_encoding.h
  uint64_t size = 0;     // of every value; 0: each says its own
  bool operator==(const MdsColumn&) const = default;
};
using MdsColumns = std::vector<MdsColumn>;  // by name

// How shards are written.
struct MdsOptions {
  std::string compression;             // "zstd:3"; empty: none
  std::vector<std::string> hashes;     // sorted
  std::optional<uint64_t> size_limit;  // bytes of a shard before compression
  bool operator==(const MdsOptions&) const = default;
};

struct MdsFile {
  std::string name;  // below the folder of the index
  uint64_t bytes = 0;
  std::map<std::string, std::string> hashes;  // in hex, by algorithm
  bool operator==(const MdsFile&) const = default;
};

struct MdsShard {
  std::shared_ptr<const MdsColumns> columns;  // the same of most shards
  MdsOptions options;
  int64_t samples = 0;
  MdsFile raw;
  std::optional<MdsFile> zip;  // the compressed file, where there is one

  const MdsFile& stored() const { return zip ? *zip : raw; }
};

// Throws Error that begins with `name` for what is no index of version 2, and for sizes and file names that cannot be.
std::vector<MdsShard> parse_mds_index(std::string_view text, const std::string& name);

// The texts that mosaicml-streaming writes, byte for byte: the index, and the JSON of a shard's header.
std::string mds_index_text(const std::vector<MdsShard>& shards);
std::string mds_header_text(const MdsColumns& columns, const MdsOptions& options);

}  // namespace tessera
