#include "data/records/shard_index.h"

#include <fmt/format.h>
#include <xxhash.h>

#include "core/byte_reader.h"
#include "core/files.h"
#include "storage/cache_folder.h"

namespace tessera {
namespace {

constexpr uint64_t kVersion = 1;
constexpr size_t kHashBytes = 8;
constexpr size_t kLeastPlaceBytes = 20;  // what a place takes in the file, without its id

class Writer {
 public:
  template <class Integer>
  void number(Integer value) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof(value));
  }
  void text(const std::string& value) {
    number(static_cast<uint32_t>(value.size()));
    bytes_.insert(bytes_.end(), value.begin(), value.end());
  }
  std::vector<uint8_t> finish() {
    number(static_cast<uint64_t>(XXH3_64bits(bytes_.data(), bytes_.size())));
    return std::move(bytes_);
  }

 private:
  std::vector<uint8_t> bytes_;
};

std::string read_string(ByteReader& in) {
  return std::string(in.text(in.number<uint32_t>()));
}

std::string key_of(const ShardIdentity& shard) {
  return fmt::format("{}\n{}\n{}\n{}", shard.format, shard.place, shard.size, shard.changed_ns);
}

// Of the place alone: the index of a shard that changes replaces its old one.
fs::path file_of(const ShardIdentity& shard) {
  const std::string key = shard.format + "\n" + shard.place;
  return cache_folder() / "shard-indices" / fmt::format("{:016x}.index", XXH3_64bits(key.data(), key.size()));
}

ShardIndex parse(std::span<const uint8_t> file, const std::string& key) {
  constexpr const char* kName = "the shard index";
  TSR_CHECK(file.size() >= kHashBytes, "{} is truncated", kName);
  const auto content = file.first(file.size() - kHashBytes);
  ByteReader hash(file.last(kHashBytes), kName);
  TSR_CHECK(hash.number<uint64_t>() == XXH3_64bits(content.data(), content.size()), "{} is damaged", kName);
  ByteReader in(content, kName);
  TSR_CHECK(in.number<uint64_t>() == kVersion, "{} is of another version", kName);
  TSR_CHECK(read_string(in) == key, "{} is of another shard", kName);
  ShardIndex index;
  index.shard_bytes = in.number<uint64_t>();
  const auto count = in.number<uint64_t>();
  TSR_CHECK(count <= in.left() / kLeastPlaceBytes, "{} claims {} samples", kName, count);
  index.places.resize(count);
  for (RecordPlace& place : index.places) {
    place.offset = in.number<uint64_t>();
    place.size = in.number<uint64_t>();
    place.id = read_string(in);
  }
  return index;
}

}  // namespace

std::optional<ShardIndex> load_shard_index(const ShardIdentity& shard) {
  try {
    const fs::path file = file_of(shard);
    if (!fs::is_regular_file(file)) return std::nullopt;
    return parse(read_bytes(file), key_of(shard));
  } catch (const Error&) {
  } catch (const fs::filesystem_error&) {
  }
  return std::nullopt;
}

void keep_shard_index(const ShardIdentity& shard, const ShardIndex& index) {
  Writer out;
  out.number(kVersion);
  out.text(key_of(shard));
  out.number(index.shard_bytes);
  out.number(static_cast<uint64_t>(index.places.size()));
  for (const RecordPlace& place : index.places) {
    out.number(place.offset);
    out.number(place.size);
    out.text(place.id);
  }
  try {
    const fs::path file = file_of(shard);
    make_folders(file.parent_path(), Access::kPrivate);
    write_file(file, std::span<const uint8_t>(out.finish()), Access::kPrivate);
  } catch (const Error&) {
  } catch (const fs::filesystem_error&) {
  }
}

void forget_shard_index(const ShardIdentity& shard) {
  try {
    std::error_code ignored;
    fs::remove(file_of(shard), ignored);
  } catch (const Error&) {
  }
}

}  // namespace tessera
