#include "data/check/mask_look.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "core/files.h"
#include "core/parallel_map.h"
#include "data/check/border_look.h"
#include "data/datasets/labelme.h"
#include "storage/file_tree.h"

namespace tessera {
namespace {

constexpr size_t kMostValues = 1 << 16;

bool is_grey(const RawMask& mask) {
  return !mask.rgb || std::all_of(mask.values.begin(), mask.values.end(), [](int32_t v) { return v == (v & 0xFF) * 0x010101; });
}

// Connected pieces (also over corners) of pixels of one value other than 0.
int64_t count_pieces(const RawMask& mask) {
  const auto height = static_cast<size_t>(mask.height), width = static_cast<size_t>(mask.width);
  std::vector<uint32_t> parent(mask.values.size());
  std::iota(parent.begin(), parent.end(), 0U);
  const auto root = [&](uint32_t at) {
    while (parent[at] != at) at = parent[at] = parent[parent[at]];
    return at;
  };
  int64_t pieces = 0;
  for (size_t y = 0; y < height; ++y) {
    for (size_t x = 0; x < width; ++x) {
      const size_t at = y * width + x;
      if (mask.values[at] == 0) continue;
      ++pieces;
      const auto join = [&](size_t other) {
        if (mask.values[other] != mask.values[at]) return;
        const uint32_t a = root(static_cast<uint32_t>(at)), b = root(static_cast<uint32_t>(other));
        if (a == b) return;
        parent[a] = b;
        --pieces;
      };
      if (x > 0) join(at - 1);
      if (y == 0) continue;
      join(at - width);
      if (x > 0) join(at - width - 1);
      if (x + 1 < width) join(at - width + 1);
    }
  }
  return pieces;
}

struct OneMask {
  MaskLook look;
  bool computed = false;
};

std::optional<OneMask> look_at_mask(const std::filesystem::path& file, uint64_t max_pixels, bool exif_orientation) {
  if (file.empty()) return std::nullopt;
  try {
    const Blob stored = read_file(file);
    if (looks_like_labelme({reinterpret_cast<const char*>(stored.bytes.data()), stored.bytes.size()})) {
      OneMask one;
      one.look.drawn = labelme_names(stored.bytes);
      return one;
    }
    const RawMask mask = decode_mask(stored.bytes, exif_orientation, max_pixels);
    OneMask one{{}, look_at_borders(mask).computed()};
    one.look.add(mask);
    return one;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

// Grey of a mask that is stored as colours is a colour once another mask shows some.
std::map<int32_t, int64_t> as_colors(const std::map<int32_t, int64_t>& greys) {
  std::map<int32_t, int64_t> colors;
  for (const auto& [value, pixels] : greys) colors[(value & 0xFF) * 0x010101] += pixels;
  return colors;
}

}  // namespace

void MaskLook::merge(MaskLook&& from) {
  drawn.merge(from.drawn);
  if (masks == 0 || from.masks == 0) {
    std::set<std::string> names = std::move(drawn);
    if (masks == 0) *this = std::move(from);
    drawn = std::move(names);
    return;
  }
  if (from.coloured != coloured) {
    MaskLook& grey = coloured ? from : *this;
    grey.values = as_colors(grey.values);
    grey.masks_with = as_colors(grey.masks_with);
    coloured = true;
  }
  masks += from.masks;
  pixels += from.pixels;
  bits = std::max(bits, from.bits);
  too_many = too_many || from.too_many;
  for (const auto& [value, count] : from.values) {
    too_many = too_many || (values.size() >= kMostValues && !values.contains(value));
    if (!too_many || values.contains(value)) {
      values[value] += count;
      masks_with[value] += from.masks_with.at(value);
    }
  }
  with_objects += from.with_objects;
  values_in_masks += from.values_in_masks;
  pieces += from.pieces;
  numbered_from_1 += from.numbered_from_1;
  for (const auto& [different, times] : from.value_counts) value_counts[different] += times;
}

void MaskLook::add(const RawMask& mask) {
  MaskLook one;
  one.masks = 1;
  one.pixels = std::ssize(mask.values);
  one.bits = mask.bits;
  one.coloured = !is_grey(mask);
  const bool disguised = mask.rgb && !one.coloured;
  for (const int32_t stored : mask.values) ++one.values[disguised ? stored & 0xFF : stored];
  for (const auto& entry : one.values) one.masks_with[entry.first] = 1;
  const auto different = std::ssize(one.values) - (one.values.contains(0) ? 1 : 0);
  if (different > 0 && !one.coloured) {
    one.with_objects = 1;
    one.values_in_masks = different;
    one.pieces = count_pieces(mask);
    one.numbered_from_1 = one.values.rbegin()->first == different ? 1 : 0;
    one.value_counts[different] = 1;
  }
  merge(std::move(one));
}

MaskLook look_at_masks(const Dataset& dataset, std::span<const int64_t> samples, uint64_t max_pixels, bool exif_orientation,
                       int threads) {
  constexpr int64_t kGreyPerColoured = 5;
  MaskLook grey, coloured, computed;
  ParallelMap<std::optional<OneMask>> looks(std::ssize(samples), threads, 2 * threads, [&](int64_t i) {
    return look_at_mask(dataset.mask_file(samples[static_cast<size_t>(i)]), max_pixels, exif_orientation);
  });
  while (auto look = looks.next()) {
    if (!*look) continue;
    OneMask& one = **look;
    (one.computed ? computed : one.look.coloured ? coloured : grey).merge(std::move(one.look));
  }
  MaskLook all = std::move(grey);
  if (coloured.masks * kGreyPerColoured > all.masks) all.merge(std::move(coloured));
  if (computed.masks > all.masks) all.merge(std::move(computed));
  return all;
}

MaskLook usual_values(const MaskLook& look) {
  constexpr int64_t kFewestMasks = 8, kShare = 20;
  MaskLook usual = look;
  if (look.masks < kFewestMasks) return usual;
  const int64_t few = std::max<int64_t>(1, look.masks / kShare);
  std::erase_if(usual.values, [&](const auto& entry) {
    const auto found = look.masks_with.find(entry.first);
    return found != look.masks_with.end() && found->second <= few;
  });
  return usual.values.empty() ? look : usual;
}

bool numbers_objects(const MaskLook& look) {
  constexpr double kPiecesPerObject = 1.25;  // an object that others cover may show in two
  constexpr int64_t kFewestPerMask = 3, kFewestNumbers = 5, kFewestCounts = 3, kMasksPerNumber = 2;
  if (look.coloured || look.with_objects == 0 || look.values_in_masks < kFewestPerMask * look.with_objects) return false;
  if (static_cast<double>(look.pieces) > kPiecesPerObject * static_cast<double>(look.values_in_masks)) return false;
  const int64_t numbers = std::ssize(look.values) - (look.values.contains(0) ? 1 : 0);
  const bool counted = look.numbered_from_1 * 10 >= look.with_objects * 9;
  const bool varied = std::ssize(look.value_counts) >= kFewestCounts;
  const bool one_mask_each = look.with_objects > kMasksPerNumber && look.values_in_masks < kMasksPerNumber * numbers;
  constexpr int64_t kManyNumbers = 64;
  return (counted && varied && numbers >= kFewestNumbers) || (one_mask_each && numbers >= kManyNumbers);
}

std::string list_values(const MaskLook& look) {
  constexpr size_t kMostParts = 12;
  std::vector<std::string> parts;
  for (auto at = look.values.begin(); at != look.values.end();) {
    if (parts.size() == kMostParts) {
      parts.back() += ", ...";
      break;
    }
    if (look.coloured) {
      parts.push_back(fmt::format("[{},{},{}]", at->first >> 16, at->first >> 8 & 0xFF, at->first & 0xFF));
      ++at;
      continue;
    }
    const int32_t first = at->first;
    int32_t last = first;
    for (++at; at != look.values.end() && at->first == last + 1; ++at) last = at->first;
    if (last < first + 2) {
      parts.push_back(std::to_string(first));
      if (last > first) parts.push_back(std::to_string(last));
    } else {
      parts.push_back(fmt::format("{}..{}", first, last));
    }
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace tessera
