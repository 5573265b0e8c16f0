#include "data/records/mds_summary.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/plural.h"
#include "core/printable.h"
#include "data/records/mds_encoding.h"
#include "data/records/mds_files.h"

namespace tessera {
namespace {

std::string columns_text(const MdsColumns& columns) {
  std::string text;
  for (const MdsColumn& column : columns)
    text += fmt::format("  {:<12} {}\n", printable(column.name), printable(column.encoding));
  return text;
}

std::string sample_text(const MdsShardFile& file, int64_t sample, const MdsColumns& columns) {
  const std::vector<Blob> values = file.values(sample, columns);
  std::string text;
  for (size_t c = 0; c < columns.size(); ++c) {
    text += c == 0 ? "" : ", ";
    text += printable(columns[c].name) + ": " + mds_text(columns[c], values[c].bytes);
  }
  return text;
}

}  // namespace

std::string mds_summary(FileStore& store, int64_t samples) {
  const std::vector<MdsShard> shards = read_mds_index(store);
  int64_t count = 0;
  uint64_t bytes = 0;
  for (const MdsShard& shard : shards) {
    count += shard.samples;
    bytes += shard.stored().bytes;
  }
  std::string text = fmt::format("{}: {} {} in {} {}, {:.1f} MB\n", store.root(), count, plural(count, "sample"), shards.size(),
                                 plural(std::ssize(shards), "shard"), static_cast<double>(bytes) / (1 << 20));
  if (shards.empty()) return text;
  const MdsOptions& options = shards[0].options;
  text += fmt::format("  compression {}, hashes {}\n", options.compression.empty() ? "none" : printable(options.compression),
                      options.hashes.empty() ? "none" : printable(fmt::format("{}", fmt::join(options.hashes, ", "))));
  text += columns_text(*shards[0].columns);
  int64_t shown = 0;
  for (const MdsShard& shard : shards) {
    if (shown == std::min(samples, count)) break;
    for (const MdsColumn& column : *shard.columns) check_mds_column(column, store.root());
    const auto file = open_mds_shard(store, shard);
    for (int64_t i = 0; i < shard.samples && shown < samples; ++i, ++shown)
      text += fmt::format("sample {}: {}\n", shown, sample_text(*file, i, *shard.columns));
  }
  return text;
}

}  // namespace tessera
