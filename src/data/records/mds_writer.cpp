#include "data/records/mds_writer.h"

#include <array>

#include "core/error.h"

namespace tessera {
namespace {

// In the order of the columns' names.
std::array<std::span<const uint8_t>, 3> values_of(const EncodedSample& sample) {
  const std::span<const uint8_t> id(reinterpret_cast<const uint8_t*>(sample.id.data()), sample.id.size());
  return {id, sample.image.bytes, sample.labels.bytes};
}

}  // namespace

MdsColumns mds_sample_columns(const std::string& image_encoding, const std::string& labels_encoding) {
  MdsColumns columns = {{"uid", "bytes", 0}, {"x", image_encoding, 0}};
  if (!labels_encoding.empty()) columns.push_back({"y", labels_encoding, 0});
  return columns;
}

uint64_t MdsWriter::bytes_with(const EncodedSample& sample) const {
  const auto values = values_of(sample);
  return shard_.bytes_with(std::span(values).first(labelled_ ? 3 : 2));
}

void MdsWriter::add(const EncodedSample& sample) {
  TSR_CHECK(!labelled_ || sample.labels.size() > 0, "{} has no mask, the samples before have", sample.id);
  const auto values = values_of(sample);
  shard_.add(std::span(values).first(labelled_ ? 3 : 2));
}

}  // namespace tessera
