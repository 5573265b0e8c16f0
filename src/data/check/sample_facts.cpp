#include "data/check/sample_facts.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <new>

#include "core/class_bits.h"
#include "core/error.h"
#include "core/files.h"
#include "data/check/fault_kind.h"
#include "data/check/image_facts.h"
#include "data/check/image_look.h"
#include "data/check/mask_facts.h"
#include "data/datasets/load_sample.h"
#include "data/decode/color.h"
#include "data/decode/label_rules.h"
#include "storage/file_tree.h"

namespace tessera {
namespace {

void count_labels(const LabelMap& labels, const ClassTable& classes, SampleFacts& facts) {
  std::vector<int64_t> counts(static_cast<size_t>(classes.size()));
  facts.has_labels = true;
  for (const int16_t label : labels.labels) {
    if (label < 0) continue;
    ++facts.labelled;
    if (!classes.multi_label) ++counts.at(static_cast<size_t>(label));
    for (int c = 0; classes.multi_label && c < classes.size(); ++c)
      counts[static_cast<size_t>(c)] += has_class(label, c) ? 1 : 0;
  }
  for (size_t k = 0; k < counts.size(); ++k) {
    if (counts[k] > 0) facts.classes.emplace_back(static_cast<int16_t>(k), counts[k]);
  }
  const auto width = static_cast<size_t>(labels.width);
  for (size_t i = 1; i < labels.labels.size(); ++i)
    facts.label_borders += i % width != 0 && labels.labels[i] != labels.labels[i - 1] ? 1 : 0;
  facts.labels_hash = XXH3_64bits_withSeed(labels.labels.data(), labels.labels.size() * sizeof(int16_t),
                                           static_cast<XXH64_hash_t>(labels.width));
}

// Through the bytes, which tell more than pixels do.
void look_at_encoded(const SampleCoding& coding, int classes, const EncodedSample& stored, SampleFacts& facts, Sample& sample,
                     ByteHistogram& histogram) {
  facts.image_file = look_at_file(stored.image.bytes, stored.image_name);
  facts.mask_file = look_at_file(stored.labels.bytes, stored.labels_name);
  facts.mask.is_image = !stored.labels.bytes.empty() && std::ranges::equal(stored.image.bytes, stored.labels.bytes);
  Raster raster = decode_raster(stored.image.bytes, *coding.options);
  facts.transparent = is_transparent(raster);
  facts.image_file.cmyk = facts.image_file.cmyk || raster.kind == ColorKind::kCmyk;
  sample.image = to_channels(std::move(raster), coding.options->channels);
  measure_image(sample.image, facts, histogram);
  if (!coding.labelled) return;
  const RawMask mask = decode_mask(stored.labels.bytes, coding.options->exif_orientation, coding.options->max_pixels);
  measure_mask(mask, sample.image, facts.mask);
  check_mask_size(sample, {mask.height, mask.width}, stored.image_name, stored.labels_name);
  sample.labels = apply_label_rules(mask, *coding.rules, classes);
}

Sample read_sample(const Dataset& dataset, int64_t index, SampleFacts& facts, ByteHistogram& histogram) {
  const std::optional<SampleCoding> coding = dataset.coding();
  const std::optional<EncodedSample> stored = coding ? dataset.encoded(index) : std::nullopt;
  Sample sample;
  sample.id = dataset.id(index);
  if (!stored) {
    constexpr size_t kBeforePixels = size_t{256} << 10;
    const fs::path file = dataset.image_file(index);
    const std::string start = file.empty() ? "" : start_of_file(file, kBeforePixels);
    facts.image_file = look_at_file({reinterpret_cast<const uint8_t*>(start.data()), start.size()}, file.string());
    sample = dataset.get(index);
    measure_image(sample.image, facts, histogram);
    return sample;
  }
  try {
    look_at_encoded(*coding, dataset.classes().size(), *stored, facts, sample, histogram);
  } catch (const Error&) {
    return dataset.get(index);  // says it as training would, with the names of files
  }
  return sample;
}

void set_fault(SampleFacts& facts, FindingKind kind, std::string reason) {
  facts.fault = kind;
  facts.reason = std::move(reason);
}

}  // namespace

// Whole numbers: in which order they are added changes nothing.
void add_counts(const ByteHistogram& from, ByteHistogram& to) {
  if (to.size() < from.size()) to.resize(from.size());
  for (size_t c = 0; c < from.size(); ++c) {
    for (size_t value = 0; value < from[c].size(); ++value) to[c][value] += from[c][value];
  }
}

SampleFacts look_at_sample(const Dataset& dataset, int64_t index, ByteHistogram& histogram) {
  SampleFacts facts;
  try {
    ByteHistogram own;
    const Sample sample = read_sample(dataset, index, facts, own);
    if (sample.labels) count_labels(*sample.labels, dataset.classes(), facts);
    add_counts(own, histogram);
  } catch (const BadSample& bad) {
    set_fault(facts, fault_kind(bad.reason()), bad.reason());
    const bool turned = facts.image_file.orientation >= 5 && facts.mask_file.orientation < 5;
    if (facts.fault == FindingKind::kSizeMismatch && turned && bad.reason().find("exif_orientation") != std::string::npos)
      facts.fault = FindingKind::kExifRotation;
  } catch (const std::bad_alloc&) {
    facts = {};
    set_fault(facts, FindingKind::kTooLarge,
              "there is not enough memory to read it; leave it out, or lower data.max_pixels and data.threads");
  } catch (const std::exception& error) {
    facts = {};
    set_fault(facts, FindingKind::kUnusable, error.what());
  }
  return facts;
}

}  // namespace tessera
