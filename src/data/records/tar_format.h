#pragma once
#include <string>
#include <vector>

#include "config/data_config.h"
#include "data/records/shard_format.h"

namespace tessera {

// The endings of the files that make up a sample, the first that is there.
struct MemberNames {
  std::vector<std::string> image;
  std::vector<std::string> labels;
};

// The usual endings, jpg, png, ... for images and mask.png, seg.png, ... for masks, unless data.records names others. A lone
// png beside a jpg is a mask. Throws UsageError for data.records.id: the names of the files say it.
MemberNames member_names(const RecordsConfig& config);

// What the name of a file in a shard says, by WebDataset's rule: the key is all up to the first dot of the last part of the
// path, the ending all behind it, in lower case. "%2E" and "%25" in a key stand for '.' and '%' (see TarWriter). `ending` is
// empty where the file belongs to no sample: without an ending, hidden, or __called so__.
struct MemberName {
  std::string key, ending;
};
MemberName member_name(const std::string& file);

// WebDataset's shards: tar archives, plain or packed by GZIP, in which the files of a sample lie one behind the other and share
// their name up to the ending. Files of other endings are passed over, and so are groups without any image or mask.
class TarFormat : public ShardFormat {
 public:
  explicit TarFormat(MemberNames names) : names_(std::move(names)) {}

  std::string name() const override;
  bool is_shard(const std::string& file) const override;
  bool is_packed(std::span<const uint8_t> bytes) const override;
  std::vector<RecordPlace> places(std::span<const uint8_t> bytes, const std::string& shard) const override;
  std::vector<std::string> first_parts(std::span<const uint8_t> bytes, const std::string& shard) const override;
  EncodedSample read(const Blob& bytes, const RecordPlace& place, const std::string& id,
                     const std::string& name) const override;

 private:
  bool is_sample_part(const std::string& ending) const;

  MemberNames names_;
};

}  // namespace tessera
