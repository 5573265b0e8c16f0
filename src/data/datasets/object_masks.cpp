#include "data/datasets/object_masks.h"

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "data/decode/label_rules.h"
#include "storage/file_tree.h"

namespace tessera {
namespace {

// Enough that two kinds of masks in one data set hardly escape; a data set of several classes is known by the first or second.
constexpr size_t kMasksLookedAt = 32;

enum class Shown { kNothing, kObjects, kOther };

// `unlabelled`: the value that rule 7 leaves out.
Shown values_of(const RawMask& mask, int32_t unlabelled) {
  bool objects = false;
  for (const int32_t stored : mask.values) {
    const int32_t value = mask.rgb ? stored & 0xFF : stored;
    const bool coloured = mask.rgb && stored != value * 0x010101;
    if (coloured || (value != 0 && value != unlabelled)) return Shown::kOther;
    objects = objects || value == unlabelled;
  }
  return objects ? Shown::kObjects : Shown::kNothing;
}

std::optional<RawMask> read_mask(const FilePair& pair, uint64_t max_pixels) {
  if (pair.mask.empty()) return std::nullopt;
  try {
    return decode_mask(read_file(pair.mask).bytes, true, max_pixels);
  } catch (const std::exception&) {
    return std::nullopt;  // a bad sample, which is told of where it is used
  }
}

}  // namespace

void refuse_unmarked_objects(std::span<const FilePair> pairs, const LabelConfig& rules, std::span<const std::string> classes,
                             uint64_t max_pixels) {
  if (classes.size() != 2 || rules.binary || !rules.colors.empty()) return;
  const size_t looked_at = std::min(pairs.size(), kMasksLookedAt);
  size_t read = 0;
  std::optional<int32_t> objects;
  for (size_t i = 0; i < looked_at; ++i) {
    const std::optional<RawMask> mask = read_mask(pairs[i * pairs.size() / looked_at], max_pixels);
    if (!mask) continue;
    ++read;
    const std::optional<int32_t> unlabelled = value_left_out(*mask, rules, static_cast<int>(classes.size()));
    const Shown shown = unlabelled ? values_of(*mask, *unlabelled) : Shown::kOther;
    if (shown == Shown::kOther) return;
    if (shown == Shown::kObjects) objects = unlabelled;
  }
  if (!objects) return;
  fail_usage(
      "the masks hold no values but 0 and {0} ({1} of {2} looked at), and {0} counts as \"not labelled\": no pixel would be "
      "'{3}'. Set data.labels.binary=true if {0} marks '{3}', or data.labels.ignore=[{0}] if it marks pixels that nobody "
      "labelled",
      *objects, read, pairs.size(), classes[1]);
}

}  // namespace tessera
