#include "storage/zip.h"

#include <zlib.h>

#include <algorithm>

#include "core/byte_reader.h"

namespace tessera {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                   kLocator64 = 0x07064b50;
constexpr size_t kEndBytes = 22, kLocator64Bytes = 20, kCentralBytes = 46, kLongestComment = 0xFFFF;
constexpr uint32_t kIn64 = 0xFFFFFFFF;    // "see the zip64 field"
constexpr uint64_t kDeflateLimit = 1032;  // no deflate stream unpacks to more than this times its size
// What a whole file may unpack to: trained weights hardly shrink at all, so a hundredfold is a bomb.
constexpr uint64_t kUnpackFactor = 100, kUnpackAlways = 64 << 20;

struct Directory {
  uint64_t offset, size, count;
};

ByteReader reader_at(const Blob& file, uint64_t offset, const std::string& name) {
  TSR_CHECK(offset <= file.size(), "{} is truncated or damaged: its directory points to byte {} of {}", name, offset,
            file.size());
  return {file.bytes.subspan(offset), name};
}

Directory find_directory(const Blob& file, const std::string& name) {
  const size_t size = file.size();
  const size_t last = size < kEndBytes ? 0 : size - kEndBytes;
  for (size_t back = 0; size >= kEndBytes && back <= std::min(last, kLongestComment); ++back) {
    ByteReader in(file.bytes.subspan(last - back), name);
    if (in.number<uint32_t>() != kEnd) continue;
    in.skip(6);
    Directory directory{};
    directory.count = in.number<uint16_t>();
    directory.size = in.number<uint32_t>();
    directory.offset = in.number<uint32_t>();
    if (in.number<uint16_t>() != back) continue;
    if (last - back >= kLocator64Bytes) {
      ByteReader locator(file.bytes.subspan(last - back - kLocator64Bytes), name);
      if (locator.number<uint32_t>() == kLocator64) {
        locator.skip(4);
        ByteReader end = reader_at(file, locator.number<uint64_t>(), name);
        TSR_CHECK(end.number<uint32_t>() == kEnd64, "{} is damaged: its zip64 directory is not where it should be", name);
        end.skip(28);
        directory.count = end.number<uint64_t>();
        directory.size = end.number<uint64_t>();
        directory.offset = end.number<uint64_t>();
      }
    }
    return directory;
  }
  fail("{} is truncated or damaged: it starts like a ZIP file but has no directory at its end", name);
}

// Sizes and offsets that do not fit 32 bits lie in extra field 1, in this order, only those that are needed.
void read_zip64(ByteReader extra, ZipEntry& entry, uint64_t& header) {
  while (extra.left() >= 4) {
    const auto id = extra.number<uint16_t>();
    ByteReader field(extra.take(extra.number<uint16_t>()), extra.name());
    if (id != 1) continue;
    if (entry.size == kIn64) entry.size = field.number<uint64_t>();
    if (entry.stored == kIn64) entry.stored = field.number<uint64_t>();
    if (header == kIn64) header = field.number<uint64_t>();
  }
}

// One entry of the directory; `header` becomes the offset of its local header, after which the data begins.
ZipEntry read_entry(ByteReader& in, const Blob& file, uint64_t& header) {
  ZipEntry entry;
  TSR_CHECK(in.number<uint32_t>() == kCentralHeader, "{} is damaged: its directory is broken", in.name());
  in.skip(4);
  const auto flags = in.number<uint16_t>();
  const auto method = in.number<uint16_t>();
  in.skip(4);
  entry.crc = in.number<uint32_t>();
  entry.stored = in.number<uint32_t>();
  entry.size = in.number<uint32_t>();
  const auto name_length = in.number<uint16_t>();
  const auto extra_length = in.number<uint16_t>();
  const auto comment_length = in.number<uint16_t>();
  in.skip(8);
  header = in.number<uint32_t>();
  entry.name = in.text(name_length);
  read_zip64({in.take(extra_length), in.name()}, entry, header);
  in.skip(comment_length);
  TSR_CHECK((flags & 1) == 0, "{}: entry '{}' is encrypted; write the file without a password", in.name(), entry.name);
  TSR_CHECK(method == 0 || method == 8, "{}: entry '{}' is packed by method {}; stored and deflated ones can be read",
            in.name(), entry.name, method);
  entry.deflated = method == 8;
  ByteReader local = reader_at(file, header, in.name());
  TSR_CHECK(local.number<uint32_t>() == kLocalHeader, "{} is damaged: entry '{}' is not where the directory says", in.name(),
            entry.name);
  local.skip(22);
  const auto local_name = local.number<uint16_t>();
  local.skip(local.number<uint16_t>() + uint64_t{local_name});
  entry.offset = header + local.position();
  TSR_CHECK(entry.stored <= local.left(), "{} is truncated or damaged: entry '{}' should have {} bytes, {} are left", in.name(),
            entry.name, entry.stored, local.left());
  TSR_CHECK(entry.deflated ? entry.size / kDeflateLimit <= entry.stored : entry.size == entry.stored,
            "{} is damaged: entry '{}' claims {} bytes but holds {}", in.name(), entry.name, entry.size, entry.stored);
  return entry;
}

}  // namespace

bool looks_like_zip(std::span<const uint8_t> bytes) {
  return bytes.size() >= 4 && bytes[0] == 'P' && bytes[1] == 'K' && (bytes[2] == 3 || bytes[2] == 5) &&
         bytes[3] == bytes[2] + 1;
}

Zip::Zip(Blob file, std::string name) : file_(std::move(file)), name_(std::move(name)) {
  const Directory directory = find_directory(file_, name_);
  ByteReader from = reader_at(file_, directory.offset, name_);
  ByteReader in(from.take(directory.size), name_);
  TSR_CHECK(directory.count <= directory.size / kCentralBytes, "{} is damaged: its directory claims {} entries", name_,
            directory.count);
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (uint64_t i = 0; i < directory.count; ++i) {
    uint64_t header = 0;
    entries_.push_back(read_entry(in, file_, header));
    const ZipEntry& entry = entries_.back();
    TSR_CHECK(index_.emplace(entry.name, i).second, "{} is damaged: it has two entries '{}'", name_, entry.name);
    ranges.emplace_back(header, entry.offset + entry.stored);
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i) {
    TSR_CHECK(ranges[i - 1].second <= ranges[i].first, "{} is damaged: its entries overlap", name_);
  }
}

const ZipEntry* Zip::find(const std::string& name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

Blob Zip::read(const ZipEntry& entry) {
  if (!entry.deflated) return file_.part(entry.offset, entry.stored);
  unpacked_ += entry.size;
  TSR_CHECK(unpacked_ <= kUnpackAlways || unpacked_ / kUnpackFactor <= file_.size(),
            "{} ({} bytes) would unpack to {} bytes and more; weights do not shrink like that, the file is not trusted", name_,
            file_.size(), unpacked_);
  return inflate(entry);
}

Blob Zip::read_checked(const ZipEntry& entry, uint64_t most) const {
  TSR_CHECK(entry.size <= most, "{}: entry '{}' has {} bytes, expected {} at most", name_, entry.name, entry.size, most);
  if (entry.deflated) return inflate(entry);
  const Blob content = file_.part(entry.offset, entry.stored);
  check_crc(entry, content.bytes);
  return content;
}

void Zip::check_crc(const ZipEntry& entry, std::span<const uint8_t> content) const {
  const uint64_t crc = crc32_z(0, content.data(), content.size());
  TSR_CHECK(crc == entry.crc, "{} is damaged: the checksum of entry '{}' does not match", name_, entry.name);
}

Blob Zip::inflate(const ZipEntry& entry) const {
  std::vector<uint8_t> out(entry.size);
  z_stream stream{};
  TSR_CHECK(inflateInit2(&stream, -MAX_WBITS) == Z_OK, "zlib could not be started");
  const std::span<const uint8_t> packed = file_.bytes.subspan(entry.offset, entry.stored);
  size_t taken = 0, made = 0;
  int status = Z_OK;
  // zlib counts in 32 bits, entries in 64. One spare byte shows a stream that holds more than it says.
  uint8_t spare = 0;
  while (status == Z_OK) {
    constexpr size_t kStep = 1 << 30;
    const bool full = made == out.size();
    stream.next_in = const_cast<uint8_t*>(packed.data() + taken);
    stream.avail_in = static_cast<uInt>(std::min(packed.size() - taken, kStep));
    stream.next_out = full ? &spare : out.data() + made;
    stream.avail_out = full ? 1 : static_cast<uInt>(std::min(out.size() - made, kStep));
    const uInt in_before = stream.avail_in, out_before = stream.avail_out;
    status = ::inflate(&stream, Z_NO_FLUSH);
    taken += in_before - stream.avail_in;
    made += out_before - stream.avail_out;
    if (made > out.size() || (in_before == stream.avail_in && out_before == stream.avail_out)) break;
  }
  inflateEnd(&stream);
  TSR_CHECK(status == Z_STREAM_END && made == out.size(), "{} is damaged: entry '{}' does not unpack to the {} bytes it claims",
            name_, entry.name, entry.size);
  check_crc(entry, out);
  return own_bytes(std::move(out));
}

}  // namespace tessera
