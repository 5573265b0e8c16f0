#include "data/batch/loader.h"

#include <torch/types.h>

#include <cstring>
#include <numeric>
#include <system_error>

#include "core/clock.h"
#include "core/error.h"
#include "core/rank_status.h"
#include "core/start_threads.h"
#include "data/loading/transformed_sample.h"

namespace tessera {

Loader::Loader(const Dataset& dataset, const Pipeline& pipeline, Quarantine& quarantine, LoaderOptions options,
               int64_t first_step)
    : dataset_(dataset),
      pipeline_(pipeline),
      quarantine_(quarantine),
      options_(std::move(options)),
      sampler_(dataset.size(), options_.batch_size, options_.seed, dataset.shards(), options_.chances),
      next_out_(first_step),
      next_in_(first_step) {
  if (options_.positions.empty()) {
    options_.positions.resize(static_cast<size_t>(options_.batch_size));
    std::iota(options_.positions.begin(), options_.positions.end(), int64_t{0});
  }
  start_threads(workers_, std::max(1, options_.threads), [this] { work(); });
  if (workers_.empty())
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again), "a thread that loads samples");
}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  space_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

Batch Loader::next() {
  const double begin = monotonic_s();
  std::unique_lock lock(mutex_);
  ready_.wait(lock, [&] {
    const auto slot = slots_.find(next_out_);
    return slot != slots_.end() && (slot->second.error || slot->second.done == slot->second.rows());
  });
  seconds_waited_ += monotonic_s() - begin;
  Slot& slot = slots_.at(next_out_);
  if (slot.error) std::rethrow_exception(slot.error);
  Batch batch = std::move(slot.batch);
  slots_.erase(next_out_);
  ++next_out_;
  space_.notify_all();
  return batch;
}

StageTimes Loader::stage_times() const {
  const std::lock_guard lock(mutex_);
  return stage_times_;
}

std::optional<Loader::Held> Loader::held_by_memory() const {
  const std::lock_guard lock(mutex_);
  if (options_.max_bytes == 0 || batch_bytes_ == 0 || batches_that_fit() >= options_.prefetch) return std::nullopt;
  return Held{batches_that_fit(), batch_bytes_};
}

// How large batches are is known once the first one has its memory.
bool Loader::may_begin() const {
  const int64_t ahead = next_in_ - next_out_;
  if (ahead >= options_.prefetch) return false;
  if (ahead == 0 || options_.max_bytes == 0 || slots_.contains(next_in_)) return true;
  return batch_bytes_ > 0 && ahead < batches_that_fit();
}

void Loader::plan(Slot& slot, int64_t step) {
  const std::vector<Pick> all = sampler_.batch(step);
  MixPlan plan = plan_mixes(options_.mix, options_.seed, step, options_.positions, options_.batch_size);
  for (const int64_t position : plan.positions) slot.picks.push_back(all.at(static_cast<size_t>(position)));
  for (const Pick& pick : slot.picks) {
    slot.batch.indices.push_back(pick.index);
    slot.batch.draws.push_back(pick.draw);
  }
  slot.batch.mixes = std::move(plan.mixes);
  slot.batch.blends = options_.mix.mixup.chance() > 0;
}

std::vector<int64_t> Loader::needed_from(int64_t step) {
  std::vector<int64_t> needed;
  const int64_t ahead = sampler_.batches_ahead();
  for (int64_t next = step; ahead > 0 && next <= step + ahead; ++next) {
    const std::vector<Pick> all = sampler_.batch(next);
    for (const int64_t position : options_.positions) needed.push_back(all.at(static_cast<size_t>(position)).index);
  }
  return needed;
}

void Loader::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    space_.wait(lock, [&] { return stop_ || may_begin(); });
    if (stop_) return;
    const int64_t step = next_in_;
    Slot& slot = slots_[step];
    std::vector<int64_t> needed;
    if (slot.picks.empty()) {
      plan(slot, step);
      needed = needed_from(step);
    }
    const int64_t position = slot.taken++;
    if (slot.taken == slot.rows()) ++next_in_;
    lock.unlock();
    StageTimes times;
    try {
      if (!needed.empty()) dataset_.will_need(needed);
      int64_t used = 0;
      Sample sample = load(slot.picks[position], step / sampler_.batches_per_epoch(), used, times);
      StageClock clock(times);
      place(slot, position, std::move(sample), used);
      clock.end(LoadStage::kPlace);
      lock.lock();
    } catch (...) {
      lock.lock();
      slot.error = std::current_exception();
    }
    stage_times_ += times;
    ++slot.done;
    if (slot.error || slot.done == slot.rows()) ready_.notify_all();
    if (slot.error) return;
  }
}

// What stands in for a bad sample is augmented by that one's draw: elsewhere in the epoch it comes under its own.
Sample Loader::load(const Pick& pick, int64_t epoch, int64_t& used_index, StageTimes& times) {
  constexpr int kMaxDraws = 100;
  Rng replacement(options_.seed, Stream::kReplace, static_cast<uint64_t>(epoch), static_cast<uint64_t>(pick.draw));
  std::vector<BadSampleRecord> bad;
  used_index = pick.index;
  for (int draw = 0; draw < kMaxDraws; ++draw) {
    if (!quarantine_.contains(used_index)) {
      note_sample(used_index);
      try {
        Sample sample =
            transformed_sample(dataset_, used_index, pipeline_,
                               {options_.seed, static_cast<uint64_t>(epoch), static_cast<uint64_t>(pick.draw)}, times);
        for (BadSampleRecord& record : bad) {
          record.replaced_by = sample.id;
          quarantine_.add(std::move(record));
        }
        return sample;
      } catch (const BadSample& e) {
        bad.push_back({used_index, e.id(), e.reason(), ""});
      }
    }
    used_index = replacement.below(static_cast<uint32_t>(dataset_.size()));
  }
  for (BadSampleRecord& record : bad) quarantine_.add(std::move(record));
  fail("no usable sample found in {} draws for sample {}; `tessera data check` lists what is wrong", kMaxDraws,
       dataset_.id(pick.index));
}

void Loader::place(Slot& slot, int64_t position, Sample sample, int64_t index) {
  const Image& image = sample.image;
  TSR_CHECK(sample.labels.has_value(), "{}: a training sample without labels", sample.id);
  TSR_CHECK(sample.labels->size() == image.size(), "{}: image is {} x {}, labels {} x {} after the transforms", sample.id,
            image.height, image.width, sample.labels->height, sample.labels->width);
  Batch& batch = slot.batch;
  {
    const std::lock_guard lock(mutex_);
    if (!batch.images.defined()) {
      const auto type = image.is_bytes() ? torch::kUInt8 : torch::kFloat32;
      const auto pinned = torch::TensorOptions().pinned_memory(options_.pin_memory);
      batch.images = torch::empty({slot.rows(), image.height, image.width, image.channels}, pinned.dtype(type));
      batch.labels = torch::empty({slot.rows(), image.height, image.width}, pinned.dtype(torch::kInt16));
      batch_bytes_ = std::max(batch_bytes_, static_cast<int64_t>(batch.images.nbytes() + batch.labels.nbytes()));
      space_.notify_all();
      batch.max_value = image.max_value;
      if (sample.color) batch.colors.resize(slot.picks.size());
    }
  }
  TSR_CHECK(
      batch.images.size(1) == image.height && batch.images.size(2) == image.width && batch.images.size(3) == image.channels,
      "samples of one batch must have one size: {} is {} x {} x {}, another is {} x {} x {}; end data.train.transforms with "
      "random_crop, resize or pad",
      sample.id, image.height, image.width, image.channels, batch.images.size(1), batch.images.size(2), batch.images.size(3));
  TSR_CHECK((batch.images.scalar_type() == torch::kUInt8) == image.is_bytes() && batch.max_value == image.max_value,
            "samples of one batch must have one depth: {} differs from the others (8-bit and 16-bit files mixed); convert them "
            "to one depth",
            sample.id);
  const size_t pixels = static_cast<size_t>(image.height) * static_cast<size_t>(image.width);
  if (image.is_bytes()) {
    std::memcpy(batch.images.mutable_data_ptr<uint8_t>() + static_cast<size_t>(position) * image.count(), image.bytes().data(),
                image.count());
  } else {
    std::memcpy(batch.images.mutable_data_ptr<float>() + static_cast<size_t>(position) * image.count(), image.floats().data(),
                image.count() * sizeof(float));
  }
  std::memcpy(batch.labels.mutable_data_ptr<int16_t>() + static_cast<size_t>(position) * pixels, sample.labels->labels.data(),
              pixels * sizeof(int16_t));
  if (sample.color) batch.colors[position] = *sample.color;
  batch.indices[position] = index;
}

}  // namespace tessera
