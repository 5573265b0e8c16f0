#pragma once
#include "data/convert/output_format.h"

namespace tessera {

// images/ and masks/ with the files as they are stored, called after the samples. A shard is a number of samples that are
// written together.
class FolderOutput : public OutputFormat {
 public:
  std::unique_ptr<ShardWriter> new_shard() const override;
  std::vector<NamedBytes> files(ShardWriter& shard, int64_t number, nlohmann::json& about) const override;
  RecordSourcePtr open(const fs::path& /*folder*/) const override { return nullptr; }
  bool needs_unique_names() const override { return true; }
  std::string why_not_named(const std::string& id) const override;
};

// The usual ending of such a file, with its dot. Throws Error for what is no image file.
std::string usual_ending(std::span<const uint8_t> image);

}  // namespace tessera
