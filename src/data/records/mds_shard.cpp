#include "data/records/mds_shard.h"

#include <cstring>
#include <limits>

#include "core/byte_reader.h"
#include "core/error.h"

namespace tessera {
namespace {

constexpr uint64_t kWord = sizeof(uint32_t);

void put_word(std::vector<uint8_t>& out, uint64_t value) {
  TSR_CHECK(value <= std::numeric_limits<uint32_t>::max(),
            "a shard of {} bytes: MDS counts in 32 bits; choose a smaller --shard-size, or a format for large samples (tar)",
            value);
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<uint8_t>(value >> shift));
}

}  // namespace

MdsShardFile::MdsShardFile(Blob file, int64_t samples, std::string name)
    : file_(std::move(file)), samples_(samples), name_(std::move(name)) {
  ByteReader in(file_.bytes, name_);
  const auto count = in.number<uint32_t>();
  TSR_CHECK(count == static_cast<uint64_t>(samples), "{} has {} samples, the index says {}; get both again", name_, count,
            samples);
  in.skip((count + uint64_t{1}) * kWord);
  uint64_t before = in.position();
  for (int64_t i = 0; i <= samples; ++i) {
    TSR_CHECK(offset(i) >= before && offset(i) <= file_.size(),
              "{} is damaged: sample {} begins at byte {}, expected {} to {}; get it again", name_, i, offset(i), before,
              file_.size());
    before = offset(i);
  }
}

uint32_t MdsShardFile::offset(int64_t sample) const {
  uint32_t value = 0;
  std::memcpy(&value, file_.bytes.data() + (static_cast<uint64_t>(sample) + 1) * kWord, kWord);
  return value;
}

std::vector<Blob> MdsShardFile::values(int64_t sample, const MdsColumns& columns) const {
  const Blob all = file_.part(offset(sample), offset(sample + 1) - offset(sample));
  ByteReader in(all.bytes, fmt::format("{}, sample {}", name_, sample));
  std::vector<uint64_t> sizes;
  for (const MdsColumn& column : columns) sizes.push_back(column.size > 0 ? column.size : in.number<uint32_t>());
  std::vector<Blob> values;
  for (const uint64_t size : sizes) {
    const size_t at = in.position();
    in.skip(size);
    values.push_back(all.part(at, size));
  }
  TSR_CHECK(in.left() == 0, "{} has {} bytes that belong to no column; the index is not that of this shard", in.name(),
            in.left());
  return values;
}

MdsShardBuilder::MdsShardBuilder(const MdsColumns& columns, const MdsOptions& options)
    : columns_(columns), header_(mds_header_text(columns, options)) {}

uint64_t MdsShardBuilder::size_of(std::span<const std::span<const uint8_t>> values) const {
  uint64_t size = 0;
  for (size_t i = 0; i < values.size(); ++i) size += values[i].size() + (columns_[i].size > 0 ? 0 : kWord);
  return size;
}

uint64_t MdsShardBuilder::bytes_with(std::span<const std::span<const uint8_t>> values) const {
  return 2 * kWord + header_.size() + content_.size() + sizes_.size() * kWord + size_of(values) + kWord;
}

void MdsShardBuilder::add(std::span<const std::span<const uint8_t>> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (columns_[i].size == 0) put_word(content_, values[i].size());
    TSR_CHECK(columns_[i].size == 0 || columns_[i].size == values[i].size(), "column {} takes {} bytes, got {}",
              columns_[i].name, columns_[i].size, values[i].size());
  }
  sizes_.push_back(size_of(values));
  for (const auto& value : values) content_.insert(content_.end(), value.begin(), value.end());
}

std::vector<uint8_t> MdsShardBuilder::finish() const {
  std::vector<uint8_t> out;
  uint64_t offset = (sizes_.size() + 2) * kWord + header_.size();
  out.reserve(offset + content_.size());
  put_word(out, sizes_.size());
  for (const uint64_t size : sizes_) {
    put_word(out, offset);
    offset += size;
  }
  put_word(out, offset);
  out.insert(out.end(), header_.begin(), header_.end());
  out.insert(out.end(), content_.begin(), content_.end());
  return out;
}

}  // namespace tessera
