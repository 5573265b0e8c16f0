#include "infer/eval_groups.h"

#include <iterator>
#include <limits>

#include "core/rank_status.h"
#include "data/batch/image_tensor.h"
#include "tensor/too_large.h"

namespace tessera {
namespace {

bool go_together(const EvalSample& a, const EvalSample& b, int64_t block) {
  const Image &one = a.sample.image, &other = b.sample.image;
  return a.truth.index / block == b.truth.index / block && one.size() == other.size() && one.is_bytes() == other.is_bytes() &&
         one.max_value == other.max_value;
}

int64_t bytes_of(const EvalSample& item) {
  const Image& image = item.sample.image;
  return static_cast<int64_t>(image.count() * (image.is_bytes() ? 1 : sizeof(float)) +
                              item.truth.labels.labels.size() * sizeof(int16_t));
}

int64_t limit_of(const EvalGroupOptions& options) {
  return options.max_bytes > 0 ? options.max_bytes : std::numeric_limits<int64_t>::max() / 2;
}

// Lays the images side by side and takes the truth out of the samples. Where there is no memory, the samples stay whole.
EvalGroup group_of(std::vector<EvalSample>& samples, bool at_original, at::Device device) {
  std::vector<const Image*> images;
  for (const EvalSample& item : samples) images.push_back(&item.sample.image);
  EvalGroup group;
  group.images.placements.reserve(samples.size());
  group.truths.reserve(samples.size());
  group.images.pixels = image_batch(images, device);
  group.images.max_value = images[0]->max_value;
  for (EvalSample& item : samples) {
    group.images.placements.push_back(at_original ? std::optional(item.sample.placement) : std::nullopt);
    group.truths.push_back(std::move(item.truth));
  }
  return group;
}

std::vector<EvalSample> split_off_half(std::vector<EvalSample>& samples) {
  const auto middle = samples.begin() + std::ssize(samples) / 2;
  std::vector<EvalSample> rest(std::make_move_iterator(middle), std::make_move_iterator(samples.end()));
  samples.erase(middle, samples.end());
  return rest;
}

}  // namespace

EvalGroups::EvalGroups(const EvalSamples& samples, std::vector<int64_t> indices, Quarantine& quarantine,
                       EvalGroupOptions options)
    : samples_(samples),
      indices_(std::move(indices)),
      quarantine_(quarantine),
      options_(std::move(options)),
      budget_(limit_of(options_)),
      loads_(std::ssize(indices_), options_.threads, 2 * options_.block + options_.threads,
             [this](int64_t at) { return load_within_budget(at); }) {}

EvalGroups::Loaded EvalGroups::load(int64_t index) const {
  note_sample(index);
  try {
    return samples_.load(index);
  } catch (const BadSample& e) {
    return BadSampleRecord{index, e.id(), e.reason(), ""};
  }
}

EvalGroups::Loaded EvalGroups::load_beside_others(int64_t index) const {
  try {
    return load(index);
  } catch (const std::exception& e) {
    if (why_too_large(e).empty()) throw;
    return NoMemory{};
  }
}

// The first sample comes alone: it tells how large they are.
EvalGroups::Loaded EvalGroups::load_within_budget(int64_t at) {
  budget_.enter(at, last_size_ > 0 ? last_size_.load() : options_.max_bytes);
  Loaded loaded = load_beside_others(indices_[static_cast<size_t>(at)]);
  const auto* const good = std::get_if<EvalSample>(&loaded);
  const int64_t bytes = good != nullptr ? bytes_of(*good) : 0;
  if (bytes > 0) last_size_ = bytes;
  budget_.resize(at, bytes);
  return loaded;
}

std::optional<EvalGroups::Loaded> EvalGroups::next_loaded() {
  std::optional<Loaded> loaded = loads_.next();
  if (loaded) budget_.leave(handed_out_++);
  return loaded;
}

std::optional<EvalGroup> EvalGroups::next() {
  if (waiting_.empty()) waiting_.push_back(next_samples());
  while (true) {
    std::vector<EvalSample> samples = std::move(waiting_.front());
    waiting_.pop_front();
    if (samples.empty()) return std::nullopt;
    try {
      return group_of(samples, samples_.at_original(), options_.device);
    } catch (const std::exception& e) {
      if (samples.size() == 1 || why_too_large(e).empty()) throw;
    }
    waiting_.push_front(split_off_half(samples));
    waiting_.push_front(std::move(samples));
  }
}

// The samples up to the first one that does not go with those before it; none at the end.
std::vector<EvalSample> EvalGroups::next_samples() {
  std::vector<EvalSample> group;
  int64_t bytes = 0;
  while (upcoming_ || (upcoming_ = next_loaded())) {
    if (std::holds_alternative<NoMemory>(*upcoming_)) {
      if (!group.empty()) return group;  // it must be gone before there is room
      if (options_.before_reload) options_.before_reload();
      release_kept_memory();
      upcoming_ = load(indices_[static_cast<size_t>(done_)]);
    }
    if (const auto* bad = std::get_if<BadSampleRecord>(&*upcoming_)) {
      quarantine_.add(*bad);
      ++num_bad_;
    } else {
      EvalSample& good = std::get<EvalSample>(*upcoming_);
      if (!group.empty() && (!go_together(group[0], good, options_.block) || bytes + bytes_of(good) > limit_of(options_)))
        return group;
      bytes += bytes_of(good);
      group.push_back(std::move(good));
    }
    upcoming_.reset();
    ++done_;
    if (options_.on_sample) options_.on_sample(done_);
  }
  return group;
}

}  // namespace tessera
