#include "data/cache/sample_entry.h"

#include <xxhash.h>

#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera {
namespace {

enum Tag : uint64_t { kBytes = 1, kFloats = 2, kEncodedFiles = 3 };
constexpr uint64_t kLargestHead = 1 << 16;

// What a decoded sample is beside its pixels and labels; its name follows.
struct DecodedHead {
  int32_t height, width, channels;
  float max_value;
  int32_t original_height, original_width;
  double y, x, content_height, content_width;
  uint8_t flipped, complete, has_labels, unused[5];
};
static_assert(std::is_trivially_copyable_v<DecodedHead> && sizeof(DecodedHead) == 64);

DecodedHead head_of(const Sample& sample) {
  DecodedHead head{};  // all of it: what is between the fields is stored too
  const Placement& at = sample.placement;
  head.height = sample.image.height;
  head.width = sample.image.width;
  head.channels = sample.image.channels;
  head.max_value = sample.image.max_value;
  head.original_height = at.original.height;
  head.original_width = at.original.width;
  head.y = at.y, head.x = at.x, head.content_height = at.height, head.content_width = at.width;
  head.flipped = at.flipped, head.complete = at.complete, head.has_labels = sample.labels.has_value();
  return head;
}

Placement placement_of(const DecodedHead& head) {
  Placement at;
  at.original = {head.original_height, head.original_width};
  at.y = head.y, at.x = head.x, at.height = head.content_height, at.width = head.content_width;
  at.flipped = head.flipped != 0, at.complete = head.complete != 0;
  return at;
}

template <class T>
std::span<const uint8_t> bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)};
}
template <class T>
std::span<uint8_t> room_in(std::vector<T>& values, uint64_t bytes) {
  values.resize(bytes / sizeof(T));
  return {reinterpret_cast<uint8_t*>(values.data()), values.size() * sizeof(T)};
}

void put_text(std::vector<uint8_t>& to, const std::string& text) {
  const auto size = static_cast<uint32_t>(text.size());
  const auto* bytes = reinterpret_cast<const uint8_t*>(&size);
  to.insert(to.end(), bytes, bytes + sizeof size);
  to.insert(to.end(), text.begin(), text.end());
}

bool take_text(std::span<const uint8_t>& from, std::string& text) {
  uint32_t size = 0;
  if (from.size() < sizeof size) return false;
  std::memcpy(&size, from.data(), sizeof size);
  from = from.subspan(sizeof size);
  if (from.size() < size) return false;
  text.assign(reinterpret_cast<const char*>(from.data()), size);
  from = from.subspan(size);
  return true;
}

}  // namespace

SampleKey sample_key(std::string_view identity) {
  const XXH128_hash_t hash = XXH3_128bits(identity.data(), identity.size());
  return {hash.high64, hash.low64};
}

std::optional<Sample> find_decoded(SampleStore& store, const SampleKey& key) {
  std::vector<uint8_t> head_bytes;
  Sample sample;
  LabelMap labels;
  const bool found =
      store.find(key, [&](uint64_t tag, const EntrySizes& sizes) -> std::optional<std::array<std::span<uint8_t>, kEntryParts>> {
        const bool fits = sizes[0] >= sizeof(DecodedHead) && sizes[0] <= kLargestHead && sizes[2] % sizeof(int16_t) == 0;
        if (!fits || (tag != kBytes && tag != kFloats) || (tag == kFloats && sizes[1] % sizeof(float) != 0))
          return std::nullopt;
        std::span<uint8_t> pixels;
        if (tag == kBytes) {
          pixels = room_in(sample.image.pixels.emplace<std::vector<uint8_t>>(), sizes[1]);
        } else {
          pixels = room_in(sample.image.pixels.emplace<std::vector<float>>(), sizes[1]);
        }
        return std::array{room_in(head_bytes, sizes[0]), pixels, room_in(labels.labels, sizes[2])};
      });
  if (!found) return std::nullopt;
  DecodedHead head;
  std::memcpy(&head, head_bytes.data(), sizeof head);
  sample.id.assign(head_bytes.begin() + sizeof head, head_bytes.end());
  sample.image.height = labels.height = head.height;
  sample.image.width = labels.width = head.width;
  sample.image.channels = head.channels;
  sample.image.max_value = head.max_value;
  sample.placement = placement_of(head);
  const size_t pixels = sample.image.is_bytes() ? sample.image.bytes().size() : sample.image.floats().size();
  const size_t area = static_cast<size_t>(head.height) * static_cast<size_t>(head.width);
  if (head.height <= 0 || head.width <= 0 || head.channels <= 0 || pixels != sample.image.count() ||
      labels.labels.size() != (head.has_labels != 0 ? area : 0))
    return std::nullopt;
  if (head.has_labels != 0) sample.labels = std::move(labels);
  return sample;
}

void keep_decoded(SampleStore& store, const SampleKey& key, const Sample& sample) {
  const bool fits = !sample.labels || sample.labels->size() == sample.image.size();
  if (sample.color || !fits || sample.id.size() > kLargestHead - sizeof(DecodedHead)) return;
  const DecodedHead head = head_of(sample);
  std::vector<uint8_t> head_bytes(sizeof head);
  std::memcpy(head_bytes.data(), &head, sizeof head);
  head_bytes.insert(head_bytes.end(), sample.id.begin(), sample.id.end());
  const Image& image = sample.image;
  const std::span<const uint8_t> pixels = image.is_bytes() ? bytes_of(image.bytes()) : bytes_of(image.floats());
  const std::span<const uint8_t> labels = sample.labels ? bytes_of(sample.labels->labels) : std::span<const uint8_t>();
  store.add(key, image.is_bytes() ? kBytes : kFloats, {head_bytes, pixels, labels});
}

std::optional<EncodedSample> find_encoded(SampleStore& store, const SampleKey& key) {
  std::vector<uint8_t> names, image, labels;
  const bool found =
      store.find(key, [&](uint64_t tag, const EntrySizes& sizes) -> std::optional<std::array<std::span<uint8_t>, kEntryParts>> {
        if (tag != kEncodedFiles || sizes[0] > kLargestHead) return std::nullopt;
        return std::array{room_in(names, sizes[0]), room_in(image, sizes[1]), room_in(labels, sizes[2])};
      });
  EncodedSample sample;
  std::span<const uint8_t> text = names;
  const bool whole =
      found && take_text(text, sample.id) && take_text(text, sample.image_name) && take_text(text, sample.labels_name);
  if (!whole) return std::nullopt;
  sample.image = own_bytes(std::move(image));
  if (!labels.empty()) sample.labels = own_bytes(std::move(labels));
  return sample;
}

void keep_encoded(SampleStore& store, const SampleKey& key, const EncodedSample& sample) {
  std::vector<uint8_t> names;
  for (const std::string& text : {sample.id, sample.image_name, sample.labels_name}) put_text(names, text);
  if (names.size() <= kLargestHead) store.add(key, kEncodedFiles, {names, sample.image.bytes, sample.labels.bytes});
}

}  // namespace tessera
