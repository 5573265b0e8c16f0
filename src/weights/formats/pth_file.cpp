#include "weights/formats/pth_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>

#include "core/byte_reader.h"
#include "storage/zip.h"
#include "weights/formats/pickle.h"
#include "weights/formats/pickle_walk.h"

namespace tessera {
namespace {

using Storages = std::unordered_map<std::string, Blob>;

// The pickled long 0x1950a86a20f9469cfc6c after the two bytes that name the protocol.
constexpr std::array<uint8_t, 12> kLegacyMagic{0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};
constexpr int64_t kLegacyProtocol = 1001;

// A window must lie in its storage, whatever its strides. All factors are below 2^50 (pickle_parts.h), so 128 bits hold them.
void check_window(const TensorRef& tensor, const std::string& where) {
  __int128 last = tensor.offset, count = 1;
  for (size_t axis = 0; axis < tensor.sizes.size(); ++axis) {
    if (tensor.sizes[axis] == 0) return;
    last += static_cast<__int128>(tensor.sizes[axis] - 1) * tensor.strides[axis];
    count *= tensor.sizes[axis];
    TSR_CHECK(count <= (__int128{1} << 50) && last <= (__int128{1} << 60), "{}: impossible shape", where);
  }
  const auto needs = (last + 1) * static_cast<__int128>(size_of(tensor.type));
  TSR_CHECK(needs <= tensor.storage_bytes, "{}: its shape and strides need {} bytes, its storage has {}", where,
            static_cast<int64_t>(needs), tensor.storage_bytes);
}

void check_storage(const Blob& storage, const TensorRef& tensor, const std::string& where) {
  TSR_CHECK(storage.size() == static_cast<uint64_t>(tensor.storage_bytes),
            "{}: its storage '{}' should have {} bytes, the file has {}", where, tensor.storage_key, tensor.storage_bytes,
            storage.size());
}

std::string where(const std::string& name, const std::string& key) {
  return name + ": tensor '" + key + "'";
}

// Arrays of NumPy lie in the pickle itself; their bytes are copied out once, however many keys name them.
void attach_inline(PthFile& out, const std::string& name) {
  std::unordered_map<const PickleValue*, Blob> copies;
  for (PthFile::Entry& entry : out.tensors) {
    if (entry.tensor.data == nullptr) continue;
    Blob& copy = copies[entry.tensor.data];
    const std::string& text = entry.tensor.data->text;
    if (copy.owner == nullptr) copy = own_bytes({text.begin(), text.end()});
    check_window(entry.tensor, where(name, entry.key));
    entry.storage = copy;
    entry.tensor.data = nullptr;
  }
}

PthFile parse_zip(const Blob& file, const std::string& name) {
  Zip zip(file, name);
  const ZipEntry* main = nullptr;
  for (const ZipEntry& entry : zip.entries()) {
    if (entry.name.ends_with("/data.pkl") && (main == nullptr || entry.name.size() < main->name.size())) main = &entry;
  }
  TSR_CHECK(main != nullptr, "{} is a ZIP file without data.pkl: not one that torch.save wrote", name);
  const std::string root = main->name.substr(0, main->name.size() - std::strlen("data.pkl"));
  TSR_CHECK(zip.find(root + "constants.pkl") == nullptr,
            "{} is a TorchScript program; save the module's state_dict() with torch.save instead", name);
  if (const ZipEntry* order = zip.find(root + "byteorder")) {
    const Blob text = zip.read(*order);
    TSR_CHECK(text.size() == 6 && std::memcmp(text.bytes.data(), "little", 6) == 0, "{} was written on a big-endian machine",
              name);
  }
  const Blob bytes = zip.read(*main);
  const Pickle pickle = parse_pickle(bytes.bytes, name);
  PthFile out = walk_pickle(*pickle.root, name);
  Storages storages;
  for (PthFile::Entry& entry : out.tensors) {
    if (entry.tensor.data != nullptr) continue;
    const std::string at = where(name, entry.key);
    Blob& storage = storages[entry.tensor.storage_key];
    if (storage.bytes.data() == nullptr) {
      const ZipEntry* found = zip.find(root + "data/" + entry.tensor.storage_key);
      TSR_CHECK(found != nullptr, "{}: its storage '{}' is not in the file", at, entry.tensor.storage_key);
      storage = zip.read(*found);
    }
    check_storage(storage, entry.tensor, at);
    check_window(entry.tensor, at);
    entry.storage = storage;
  }
  attach_inline(out, name);
  return out;
}

// Four pickles (magic, protocol, machine, object), a pickled list of storage keys, then each storage: its count, its bytes.
PthFile parse_legacy(const Blob& file, const std::string& name) {
  size_t at = 0;
  const auto next = [&] {
    Pickle pickle = parse_pickle(file.bytes.subspan(at), name);
    at += pickle.length;
    return pickle;
  };
  next();
  const Pickle protocol = next(), machine = next(), object = next(), keys = next();
  TSR_CHECK(protocol.root->is(PickleKind::kInt) && protocol.root->integer == kLegacyProtocol,
            "{}: its format has version {}, version {} can be read", name, protocol.root->integer, kLegacyProtocol);
  const PickleValue* little = machine.root->find("little_endian");
  TSR_CHECK(little == nullptr || little->integer != 0, "{} was written on a big-endian machine", name);
  PthFile out = walk_pickle(*object.root, name);

  // Sizes are in elements: the type of a storage is known only from the tensors that name it.
  std::unordered_map<std::string, const TensorRef*> named;
  for (const PickleValue& value : object.values) {
    if (value.is(PickleKind::kStorage) && value.tensor) named.emplace(value.tensor->storage_key, value.tensor.get());
  }
  ByteReader in(file.bytes.subspan(at), name);
  Storages storages;
  for (const PickleValue* key : keys.root->items) {
    const auto found = named.find(key->text);
    TSR_CHECK(found != named.end(), "{} is damaged: nothing refers to its storage '{}'", name, key->text);
    const auto count = in.number<uint64_t>();
    const uint64_t size = size_of(found->second->type);
    TSR_CHECK(count <= in.left() / size,
              "{} is truncated or damaged: storage '{}' should have {} elements of {} bytes, {} bytes are left", name,
              key->text, count, size, in.left());
    const size_t from = at + in.position();
    in.skip(count * size);
    storages[key->text] = file.part(from, count * size);
  }
  for (PthFile::Entry& entry : out.tensors) {
    if (entry.tensor.data != nullptr) continue;
    const auto found = storages.find(entry.tensor.storage_key);
    TSR_CHECK(found != storages.end(), "{}: its storage '{}' is not in the file", where(name, entry.key),
              entry.tensor.storage_key);
    check_storage(found->second, entry.tensor, where(name, entry.key));
    check_window(entry.tensor, where(name, entry.key));
    entry.storage = found->second;
  }
  attach_inline(out, name);
  return out;
}

}  // namespace

bool looks_like_legacy_pth(std::span<const uint8_t> bytes) {
  return bytes.size() > 2 + kLegacyMagic.size() && bytes[0] == 0x80 &&
         std::equal(kLegacyMagic.begin(), kLegacyMagic.end(), bytes.begin() + 2);
}

PthFile parse_pth(const Blob& file, const std::string& name) {
  if (looks_like_zip(file.bytes)) return parse_zip(file, name);
  TSR_CHECK(looks_like_legacy_pth(file.bytes), "{} is not a file that torch.save wrote ({} bytes)", name, file.size());
  return parse_legacy(file, name);
}

}  // namespace tessera
