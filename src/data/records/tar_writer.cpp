#include "data/records/tar_writer.h"

#include "data/decode/decode.h"
#include "storage/tar.h"

namespace tessera {
namespace {

std::string key_of(const std::string& id) {
  const size_t slash = id.rfind('/');
  const size_t last = slash == std::string::npos ? 0 : slash + 1;
  std::string key;
  for (size_t i = 0; i < id.size(); ++i) {
    if (id[i] == '%') {
      key += "%25";
    } else if (id[i] == '.' && i >= last) {
      key += "%2E";
    } else {
      key += id[i];
    }
  }
  return key;
}

std::string ending_of(std::span<const uint8_t> bytes) {
  switch (detect_format(bytes)) {
    case FileFormat::kJpeg: return "jpg";
    case FileFormat::kPng: return "png";
    case FileFormat::kTiff: return "tif";
    case FileFormat::kBmp: return "bmp";
    case FileFormat::kWebp: return "webp";
    case FileFormat::kJpeg2000: return "jp2";
    case FileFormat::kNpy: return "npy";
    case FileFormat::kDicom: break;
  }
  return "dcm";
}

}  // namespace

std::string TarWriter::image_member(const EncodedSample& sample) const {
  return key_of(sample.id) + "." + (image_.empty() ? ending_of(sample.image.bytes) : image_);
}

std::string TarWriter::labels_member(const EncodedSample& sample) const {
  return key_of(sample.id) + "." + (labels_.empty() ? "mask." + ending_of(sample.labels.bytes) : labels_);
}

uint64_t TarWriter::bytes_with(const EncodedSample& sample) const {
  uint64_t size = archive_.size() + 2 * kTarBlock + tar_member_bytes(image_member(sample), sample.image.size());
  if (sample.labels.size() > 0) size += tar_member_bytes(labels_member(sample), sample.labels.size());
  return size;
}

void TarWriter::add(const EncodedSample& sample) {
  put_tar_member(archive_, image_member(sample), sample.image.bytes);
  if (sample.labels.size() > 0) put_tar_member(archive_, labels_member(sample), sample.labels.bytes);
}

std::vector<uint8_t> TarWriter::finish() {
  end_tar(archive_);
  return std::move(archive_);
}

}  // namespace tessera
