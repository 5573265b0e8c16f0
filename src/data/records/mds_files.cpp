#include "data/records/mds_files.h"

#include <utility>

#include "storage/compression.h"
#include "storage/content_hash.h"
#include "storage/scratch.h"

namespace tessera {
namespace {

// Of several hashes the quickest: they say the same.
std::map<std::string, std::string> one_of(const std::map<std::string, std::string>& hashes) {
  for (const char* name : {"xxh3_64", "xxh3_128", "xxh128", "xxh64", "xxh32", "sha1", "sha256", "md5", "blake2b"}) {
    if (const auto found = hashes.find(name); found != hashes.end()) return {*found};
  }
  return hashes;
}

}  // namespace

std::vector<MdsShard> read_mds_index(FileStore& store) {
  const Blob text = store.open(kMdsIndexName);
  return parse_mds_index({reinterpret_cast<const char*>(text.bytes.data()), text.size()}, store.root() + "/" + kMdsIndexName);
}

std::shared_ptr<const MdsShardFile> open_mds_shard(FileStore& store, const MdsShard& shard) {
  const MdsFile& stored = shard.stored();
  const std::string name = store.root() + "/" + stored.name;
  Blob file = store.open(stored.name, {static_cast<int64_t>(stored.bytes), stored.hashes});
  check_hashes(name, file.bytes, one_of(stored.hashes));
  if (shard.zip) {
    const Compression compression = parse_compression(shard.options.compression);
    file = make_scratch(shard.raw.bytes, [&](std::span<uint8_t> content) {
      decompress(compression.kind, file.bytes, content, name);
      if (stored.hashes.empty()) check_hashes(name, content, one_of(shard.raw.hashes));
    });
  }
  return std::make_shared<MdsShardFile>(std::move(file), shard.samples, name);
}

}  // namespace tessera
