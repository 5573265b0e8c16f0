#include "storage/zip_writer.h"

#include <zlib.h>

#include "core/error.h"

namespace tessera {
namespace {

constexpr size_t kLocalBytes = 30, kExtraHead = 4;
constexpr uint16_t kZip64Field = 1, kPaddingField = 0x4246;  // the second as torch.save pads
constexpr uint16_t kVersion = 20, kVersion64 = 45;
constexpr uint16_t kMidnight = 0, kFirstDay = 0x21;  // 1 January 1980: files depend on their content only
constexpr uint16_t kMostEntries = 0xFFFF;
constexpr uint32_t kIn64 = 0xFFFFFFFF;

}  // namespace

// From "version needed" to the length of the extra field: the same in both kinds of header.
void ZipWriter::put_common(uint32_t crc, uint64_t size, size_t name_length, size_t extra_length, uint16_t version) {
  const uint32_t short_size = size >= zip64_from_ ? kIn64 : static_cast<uint32_t>(size);
  put<uint16_t>(version);
  put<uint16_t>(0x0800);  // names are UTF-8
  put<uint16_t>(0);       // stored
  put<uint16_t>(kMidnight);
  put<uint16_t>(kFirstDay);
  put<uint32_t>(crc);
  put<uint32_t>(short_size);
  put<uint32_t>(short_size);
  put<uint16_t>(static_cast<uint16_t>(name_length));
  put<uint16_t>(static_cast<uint16_t>(extra_length));
}

void ZipWriter::add(const std::string& name, std::span<const uint8_t> content, size_t alignment) {
  TSR_CHECK(name.size() <= 0xFFFF, "a ZIP entry cannot have a name of {} bytes", name.size());
  const Entry entry{name, static_cast<uint32_t>(crc32_z(0, content.data(), content.size())), content.size(), file_.size()};
  const bool large = entry.size >= zip64_from_;
  const size_t large_extra = large ? kExtraHead + 16 : 0;
  const size_t unpadded = file_.size() + kLocalBytes + name.size() + large_extra + kExtraHead;
  const size_t padding = alignment > 1 ? (alignment - unpadded % alignment) % alignment : 0;
  const size_t extra = large_extra + (alignment > 1 ? kExtraHead + padding : 0);
  put<uint32_t>(0x04034b50);
  put_common(entry.crc, entry.size, name.size(), extra, large ? kVersion64 : kVersion);
  file_.insert(file_.end(), name.begin(), name.end());
  if (large) {
    put<uint16_t>(kZip64Field);
    put<uint16_t>(16);
    put<uint64_t>(entry.size);
    put<uint64_t>(entry.size);
  }
  if (alignment > 1) {
    put<uint16_t>(kPaddingField);
    put<uint16_t>(static_cast<uint16_t>(padding));
    file_.insert(file_.end(), padding, 'Z');
  }
  file_.insert(file_.end(), content.begin(), content.end());
  entries_.push_back(entry);
}

std::vector<uint8_t> ZipWriter::finish() {
  const uint64_t start = file_.size();
  for (const Entry& entry : entries_) {
    const bool large = entry.size >= zip64_from_, far = entry.header >= zip64_from_;
    const size_t field = (large ? 16 : 0) + (far ? 8 : 0);
    const uint16_t version = field > 0 ? kVersion64 : kVersion;
    put<uint32_t>(0x02014b50);
    put<uint16_t>(version);
    put_common(entry.crc, entry.size, entry.name.size(), field > 0 ? kExtraHead + field : 0, version);
    put<uint16_t>(0);  // comment
    put<uint16_t>(0);  // disk
    put<uint16_t>(0);  // internal attributes
    put<uint32_t>(0);  // external attributes
    put<uint32_t>(far ? kIn64 : static_cast<uint32_t>(entry.header));
    file_.insert(file_.end(), entry.name.begin(), entry.name.end());
    if (field > 0) {
      put<uint16_t>(kZip64Field);
      put<uint16_t>(static_cast<uint16_t>(field));
      if (large) put<uint64_t>(entry.size), put<uint64_t>(entry.size);
      if (far) put<uint64_t>(entry.header);
    }
  }
  const uint64_t size = file_.size() - start, end64 = file_.size(), count = entries_.size();
  const bool wide = start >= zip64_from_ || size >= zip64_from_ || count >= kMostEntries;
  if (wide) {
    put<uint32_t>(0x06064b50);
    put<uint64_t>(44);  // bytes that follow
    put<uint16_t>(kVersion64);
    put<uint16_t>(kVersion64);
    put<uint64_t>(0);  // disks
    put<uint64_t>(count);
    put<uint64_t>(count);
    put<uint64_t>(size);
    put<uint64_t>(start);
    put<uint32_t>(0x07064b50);
    put<uint32_t>(0);
    put<uint64_t>(end64);
    put<uint32_t>(1);
  }
  put<uint32_t>(0x06054b50);
  put<uint32_t>(0);  // disks
  put<uint16_t>(wide ? kMostEntries : static_cast<uint16_t>(count));
  put<uint16_t>(wide ? kMostEntries : static_cast<uint16_t>(count));
  put<uint32_t>(wide ? kIn64 : static_cast<uint32_t>(size));
  put<uint32_t>(wide ? kIn64 : static_cast<uint32_t>(start));
  put<uint16_t>(0);
  return std::move(file_);
}

}  // namespace tessera
