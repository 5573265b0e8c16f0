#include "storage/unpack.h"

#include <zlib.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "core/error.h"
#include "core/printable.h"
#include "storage/tar_stream.h"
#include "storage/unpack_folder.h"
#include "storage/zip.h"

namespace tessera {

namespace fs = std::filesystem;

namespace {

constexpr size_t kPiece = 1 << 20, kHead = 512;
constexpr uint32_t kFileType = 0170000, kRegular = 0100000, kFolderType = 0040000;

bool looks_like_gzip(std::span<const uint8_t> bytes) {
  return bytes.size() > 2 && bytes[0] == 0x1F && bytes[1] == 0x8B;
}

// Inflates `packed` piece by piece; false where the stream is damaged or of another length than it says.
template <class Take>
bool inflate_pieces(std::span<const uint8_t> packed, uint64_t size, const Take& take) {
  std::vector<uint8_t> piece(kPiece);
  z_stream stream{};
  TSR_CHECK(inflateInit2(&stream, -MAX_WBITS) == Z_OK, "zlib could not be started");
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> ending(&stream, inflateEnd);
  uint64_t made = 0;
  for (int status = Z_OK; status == Z_OK;) {
    const size_t in = std::min(packed.size(), kPiece);
    stream.next_in = const_cast<uint8_t*>(packed.data());
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = piece.data();
    stream.avail_out = static_cast<uInt>(piece.size());
    status = inflate(&stream, Z_NO_FLUSH);
    const size_t out = piece.size() - stream.avail_out;
    packed = packed.subspan(in - stream.avail_in);
    made += out;
    if (made > size || (out == 0 && stream.avail_in == in && status == Z_OK)) return false;
    take(std::span<const uint8_t>(piece).first(out));
    if (status == Z_STREAM_END) return made == size;
  }
  return false;
}

void unpack_zip(const Blob& file, const std::string& name, UnpackFolder& folder, const UnpackOptions& options) {
  const Zip zip(file, name);
  for (const ZipEntry& entry : zip.entries()) {
    const uint32_t type = entry.mode & kFileType;
    if (type != 0 && type != kRegular && type != kFolderType) folder.refuse_link(entry.name);
    if (entry.name.ends_with('/')) {
      folder.add_folder(entry.name);
      continue;
    }
    if (!folder.begin_file(entry.name)) continue;
    uint64_t crc = 0;
    const auto take = [&](std::span<const uint8_t> content) {
      crc = crc32_z(crc, content.data(), content.size());
      folder.write(content);
    };
    const auto stored = file.bytes.subspan(entry.offset, entry.stored);
    bool whole = true;
    if (entry.deflated) {
      whole = inflate_pieces(stored, entry.size, take);
    } else {
      for (size_t at = 0; at < stored.size(); at += kPiece) take(stored.subspan(at, std::min(kPiece, stored.size() - at)));
    }
    TSR_CHECK(whole && crc == entry.crc, "{} is damaged: the checksum or size of entry '{}' does not match", name,
              printable(entry.name));
    folder.end_file();
    if (options.taken) options.taken(entry.offset + entry.stored);
  }
}

// What a .tar.gz holds, or the bytes as they are.
class TarBytes {
 public:
  TarBytes(const Blob& file, std::string name, bool packed) : file_(file), name_(std::move(name)), packed_(packed) {
    if (packed) TSR_CHECK(inflateInit2(&stream_, MAX_WBITS + 16) == Z_OK, "zlib could not be started");
  }
  ~TarBytes() {
    if (packed_) inflateEnd(&stream_);
  }
  TarBytes(const TarBytes&) = delete;
  TarBytes& operator=(const TarBytes&) = delete;

  size_t at() const { return at_; }

  size_t read(uint8_t* to, size_t most) {
    const std::span<const uint8_t> rest = file_.bytes.subspan(at_);
    if (!packed_) {
      const size_t count = std::min(most, rest.size());
      std::copy_n(rest.begin(), count, to);
      at_ += count;
      return count;
    }
    stream_.next_out = to;
    stream_.avail_out = static_cast<uInt>(std::min(most, kPiece));
    const uInt wanted = stream_.avail_out;
    while (stream_.avail_out == wanted) {
      if (ended_ && (at_ == file_.size() || file_.bytes[at_] != 0x1F)) return 0;
      if (std::exchange(ended_, false)) inflateReset(&stream_);  // another member follows
      const auto in = static_cast<uInt>(std::min(file_.size() - at_, kPiece));
      stream_.next_in = const_cast<uint8_t*>(file_.bytes.data() + at_);
      stream_.avail_in = in;
      const int status = inflate(&stream_, Z_NO_FLUSH);
      at_ += in - stream_.avail_in;
      TSR_CHECK(status == Z_OK || status == Z_STREAM_END, "{} is truncated or damaged: its gzip stream does not unpack", name_);
      ended_ = status == Z_STREAM_END;
    }
    return wanted - stream_.avail_out;
  }

 private:
  const Blob& file_;
  std::string name_;
  bool packed_, ended_ = false;
  z_stream stream_{};
  size_t at_ = 0;
};

void unpack_tar(const Blob& file, const std::string& name, bool packed, UnpackFolder& folder, const UnpackOptions& options) {
  TarBytes bytes(file, name, packed);
  TarStream tar([&](uint8_t* to, size_t most) { return bytes.read(to, most); }, name);
  std::vector<uint8_t> piece(kPiece);
  while (const std::optional<TarEntry> entry = tar.next()) {
    if (entry->kind == TarEntry::Kind::kLink || entry->kind == TarEntry::Kind::kOther) folder.refuse_link(entry->name);
    if (entry->kind == TarEntry::Kind::kFolder) {
      folder.add_folder(entry->name);
      continue;
    }
    if (!folder.begin_file(entry->name)) continue;
    while (const size_t got = tar.read(piece)) folder.write(std::span<const uint8_t>(piece).first(got));
    folder.end_file();
    if (options.taken) options.taken(bytes.at());
  }
}

enum class Kind { kZip, kTar, kTarGz };

Kind kind_of(const Blob& file, const std::string& name) {
  if (looks_like_zip(file.bytes)) return Kind::kZip;
  if (looks_like_tar(file.bytes)) return Kind::kTar;
  if (looks_like_gzip(file.bytes)) {
    TarBytes unpacked(file, name, true);
    std::vector<uint8_t> head(kHead);
    size_t have = 0;
    while (have < kHead) {
      const size_t got = unpacked.read(head.data() + have, kHead - have);
      if (got == 0) break;
      have += got;
    }
    if (looks_like_tar(std::span(head).first(have))) return Kind::kTarGz;
  }
  fail("{} is no archive that can be unpacked; expected .zip, .tar or .tar.gz", name);
}

}  // namespace

uint64_t unpacked_bytes(const fs::path& archive) {
  const Blob file = map_large_file(archive);
  const std::string name = archive.string();
  const Kind kind = kind_of(file, name);
  if (kind == Kind::kTar) return file.size();
  if (kind == Kind::kTarGz) return 0;
  const Zip zip(file, name);
  uint64_t bytes = 0;
  for (const ZipEntry& entry : zip.entries()) {
    if (__builtin_add_overflow(bytes, entry.size, &bytes)) return UINT64_MAX;
  }
  return bytes;
}

Unpacked unpack_archive(const fs::path& archive, const fs::path& folder, const UnpackOptions& options) {
  const Blob file = map_large_file(archive);
  const std::string name = archive.string();
  UnpackFolder to(folder, name, file.size(), options);
  const Kind kind = kind_of(file, name);
  if (kind == Kind::kZip) {
    unpack_zip(file, name, to, options);
  } else {
    unpack_tar(file, name, kind == Kind::kTarGz, to, options);
  }
  return to.finish();
}

}  // namespace tessera
