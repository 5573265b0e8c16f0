#pragma once
#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "data/batch/mix_plan.h"
#include "data/batch/quarantine.h"
#include "data/batch/sampler.h"
#include "data/dataset.h"
#include "data/loading/stage_times.h"
#include "data/transforms/transform.h"
#include "tensor/batch.h"

namespace tessera {

struct LoaderOptions {
  int64_t batch_size = 16;  // global
  uint64_t seed = 0;
  std::vector<int64_t> positions = {};  // of the global batch that are ours, in the order wanted; empty: all
  MixOptions mix = {};
  std::vector<double> chances = {};  // of the samples, Note [Rare classes first]; empty: each comes once in an epoch
  // performance
  int threads = 1;
  int prefetch = 4;       // batches held in memory at most
  int64_t max_bytes = 0;  // of them; one is held at any rate; 0: any
  bool pin_memory = false;
};

// Training batches in order, made ahead by threads of this process. Batch `step` is a function of (data, options.seed, step):
// the number of threads, a restart at any step and bad samples elsewhere do not change it. A bad sample is quarantined and
// replaced by one drawn from (seed, epoch, its draw). Where samples are mixed a batch has their partners too: Note [Mixing
// partners].
class Loader {
 public:
  // `dataset` and `pipeline` and `quarantine` must outlive the loader.
  Loader(const Dataset& dataset, const Pipeline& pipeline, Quarantine& quarantine, LoaderOptions options, int64_t first_step);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The next batch. Rethrows what a worker threw.
  Batch next();

  int64_t batches_per_epoch() const { return sampler_.batches_per_epoch(); }
  double seconds_waited() const { return seconds_waited_; }  // by callers of `next`, in total
  StageTimes stage_times() const;                            // of all threads, in total

  // Where options.max_bytes are too few for options.prefetch batches: how many they are enough for, and the bytes of one.
  struct Held {
    int64_t batches, batch_bytes;
  };
  std::optional<Held> held_by_memory() const;

 private:
  struct Slot {
    std::vector<Pick> picks;  // of all rows
    Batch batch;
    int64_t taken = 0;  // samples handed to workers
    int64_t done = 0;
    std::exception_ptr error;
    int64_t rows() const { return static_cast<int64_t>(picks.size()); }
  };

  bool may_begin() const;  // with a sample of next_in_
  int64_t batches_that_fit() const { return std::max<int64_t>(1, options_.max_bytes / std::max<int64_t>(1, batch_bytes_)); }
  void plan(Slot& slot, int64_t step);
  std::vector<int64_t> needed_from(int64_t step);  // samples of ours in this batch and those to look ahead for
  void work();
  Sample load(const Pick& pick, int64_t epoch, int64_t& used_index, StageTimes& times);
  void place(Slot& slot, int64_t position, Sample sample, int64_t index);

  const Dataset& dataset_;
  const Pipeline& pipeline_;
  Quarantine& quarantine_;
  LoaderOptions options_;
  Sampler sampler_;

  mutable std::mutex mutex_;
  std::condition_variable space_, ready_;
  std::map<int64_t, Slot> slots_;  // by step; stable addresses
  int64_t next_out_;               // step that `next` returns
  int64_t next_in_;                // step whose samples are handed out
  int64_t batch_bytes_ = 0;        // of the largest batch so far
  bool stop_ = false;
  double seconds_waited_ = 0;
  StageTimes stage_times_;
  std::vector<std::thread> workers_;
};

}  // namespace tessera
