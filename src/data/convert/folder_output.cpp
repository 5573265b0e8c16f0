#include "data/convert/folder_output.h"

#include <algorithm>

#include "core/files.h"
#include "data/decode/decode.h"
#include "data/records/shard_format.h"

namespace tessera {
namespace {

class FileGroup : public ShardWriter {
 public:
  uint64_t bytes_with(const EncodedSample& sample) const override { return bytes_ + size_of(sample); }
  void add(const EncodedSample& sample) override {
    bytes_ += size_of(sample);
    samples_.push_back(sample);
  }
  std::vector<uint8_t> finish() override { return {}; }  // its files are taken one by one

  const std::vector<EncodedSample>& samples() const { return samples_; }

 private:
  static uint64_t size_of(const EncodedSample& sample) { return sample.image.size() + sample.labels.size(); }

  uint64_t bytes_ = 0;
  std::vector<EncodedSample> samples_;
};

NamedBytes file_of(const std::string& folder, const EncodedSample& sample, const Blob& content) {
  return {folder + "/" + sample.id + usual_ending(content.bytes), {content.bytes.begin(), content.bytes.end()}};
}

}  // namespace

std::string usual_ending(std::span<const uint8_t> image) {
  switch (detect_format(image)) {
    case FileFormat::kJpeg: return ".jpg";
    case FileFormat::kPng: return ".png";
    case FileFormat::kTiff: return ".tif";
    case FileFormat::kBmp: return ".bmp";
    case FileFormat::kWebp: return ".webp";
    case FileFormat::kJpeg2000: return ".jp2";
    case FileFormat::kNpy: return ".npy";
    case FileFormat::kDicom: break;
  }
  return ".dcm";
}

std::string FolderOutput::why_not_named(const std::string& id) const {
  if (!usable_id(id)) return "which cannot be the name of a file";
  const fs::path path(id);
  const bool hidden =
      std::any_of(path.begin(), path.end(), [](const fs::path& part) { return part.native().starts_with('.'); });
  return hidden ? "and files whose names start with a dot are not looked at in a folder" : "";
}

std::unique_ptr<ShardWriter> FolderOutput::new_shard() const {
  return std::make_unique<FileGroup>();
}

std::vector<NamedBytes> FolderOutput::files(ShardWriter& shard, int64_t /*number*/, nlohmann::json& /*about*/) const {
  std::vector<NamedBytes> files;
  for (const EncodedSample& sample : dynamic_cast<FileGroup&>(shard).samples()) {
    files.push_back(file_of("images", sample, sample.image));
    if (sample.labels.size() > 0) files.push_back(file_of("masks", sample, sample.labels));
  }
  return files;
}

}  // namespace tessera
