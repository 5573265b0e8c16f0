// libFuzzer target: the index of MDS, and shards: the first byte says which columns the rest, a shard, is read by, and how many
// samples are expected. Only an Error may come out, and every value lies in the shard.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/error.h"
#include "data/records/mds_encoding.h"
#include "data/records/mds_index.h"
#include "data/records/mds_shard.h"

namespace {

using tessera::MdsColumn;
using tessera::MdsColumns;

const std::vector<MdsColumns>& layouts() {
  static const std::vector<MdsColumns> all = {
      {{"uid", "bytes", 0}, {"x", "jpeg", 0}, {"y", "png", 0}},
      {{"a", "ndarray", 0}, {"b", "ndarray:uint8", 0}, {"c", "ndarray:uint16:2,3", 12}},
      {{"a", "pil", 0}, {"b", "list[pil]", 0}},
      {{"a", "jpeg_array", 0}, {"b", "list[jpeg]", 0}, {"c", "list[png]", 0}},
      {{"a", "int", 8}, {"b", "float16", 2}, {"c", "str_int", 0}, {"d", "json", 0}, {"e", "pkl", 0}},
  };
  return all;
}

template <class Action>
void attempt(Action action) {
  try {
    action();
  } catch (const tessera::Error&) {
  }
}

void look_at(const MdsColumn& column, const tessera::Blob& value) {
  attempt([&] { tessera::mds_text(column, value.bytes); });
  attempt([&] { tessera::mds_name(column, value.bytes); });
  for (const auto use : {tessera::PictureUse::kImage, tessera::PictureUse::kLabels}) {
    attempt([&] {
      // A bit of a Pillow image becomes a byte; nothing else grows.
      constexpr size_t kHeader = 256, kGrowth = 8;
      if (tessera::mds_picture(column, value, use).size() > kHeader + kGrowth * value.size()) std::abort();
    });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  attempt([&] {
    const auto shards = tessera::parse_mds_index({reinterpret_cast<const char*>(data), size}, "index.json");
    for (const tessera::MdsShard& shard : shards) {
      for (const MdsColumn& column : *shard.columns) attempt([&] { tessera::check_mds_column(column, "index.json"); });
      if (shard.stored().name.find("..") != std::string::npos && shard.stored().name.find("../") == 0) std::abort();
    }
    // What is read is written so that it reads the same.
    const auto again = tessera::parse_mds_index(tessera::mds_index_text(shards), "again");
    if (again.size() != shards.size()) std::abort();
    for (size_t i = 0; i < again.size(); ++i) {
      if (*again[i].columns != *shards[i].columns || again[i].raw != shards[i].raw || again[i].zip != shards[i].zip)
        std::abort();
    }
  });
  if (size == 0) return 0;
  const MdsColumns& columns = layouts()[data[0] % layouts().size()];
  const int64_t samples = data[0] / static_cast<int64_t>(layouts().size()) % 8;
  const tessera::Blob blob = tessera::own_bytes({data + 1, data + size});
  attempt([&] {
    const tessera::MdsShardFile shard(blob, samples, "shard");
    for (int64_t i = 0; i < samples; ++i) {
      attempt([&] {
        const auto values = shard.values(i, columns);
        for (size_t c = 0; c < values.size(); ++c) {
          if (values[c].bytes.data() < blob.bytes.data() ||
              values[c].bytes.data() + values[c].size() > blob.bytes.data() + blob.size())
            std::abort();
          look_at(columns[c], values[c]);
        }
      });
    }
  });
  const tessera::Blob value = blob;
  for (const MdsColumn& column : columns) look_at(column, value);
  return 0;
}
