#pragma once
#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <variant>
#include <vector>

#include "core/load_budget.h"
#include "core/parallel_map.h"
#include "data/batch/quarantine.h"
#include "infer/eval_samples.h"
#include "infer/image_group.h"

namespace tessera {

// Images that share a forward pass: of one block, size and depth.
struct EvalGroup {
  ImageGroup images;
  std::vector<EvalTruth> truths;  // one for each image
};

struct EvalGroupOptions {
  int64_t block = 1;             // images that may share a forward pass: indices from a multiple of it to the next
  int threads = 1;               // that load samples
  int64_t max_bytes = 0;         // of samples that are loaded ahead, and of those of a group; one is at any rate; 0: any
  at::Device device = at::kCPU;  // that the images go to
  std::function<void(int64_t done)> on_sample = {};  // called when a sample was put into a group or left out
  std::function<void()> before_reload = {};          // called before a sample that found no memory is loaded again
};

// Loads the samples of an evaluation, ahead and on threads, and hands them out in groups, in the order of `indices`. Bad
// samples are quarantined and left out. Where memory runs out, less lies beside one another: a sample is loaded again once the
// groups before it are gone, and a group that finds no room for its batch comes in halves.
class EvalGroups {
 public:
  // samples, quarantine: must outlive this.
  EvalGroups(const EvalSamples& samples, std::vector<int64_t> indices, Quarantine& quarantine, EvalGroupOptions options);

  ~EvalGroups() { budget_.open(); }
  EvalGroups(const EvalGroups&) = delete;
  EvalGroups& operator=(const EvalGroups&) = delete;

  // The next group; nothing at the end. Throws Error where too many samples are bad.
  std::optional<EvalGroup> next();

  int64_t num_bad() const { return num_bad_; }

 private:
  struct NoMemory {};  // for a sample beside others
  using Loaded = std::variant<EvalSample, BadSampleRecord, NoMemory>;

  Loaded load(int64_t index) const;
  Loaded load_beside_others(int64_t index) const;
  Loaded load_within_budget(int64_t at);
  std::optional<Loaded> next_loaded();
  std::vector<EvalSample> next_samples();

  const EvalSamples& samples_;
  std::vector<int64_t> indices_;
  Quarantine& quarantine_;
  EvalGroupOptions options_;
  LoadBudget budget_;
  std::atomic<int64_t> last_size_ = 0;  // bytes of the sample that was loaded last
  int64_t handed_out_ = 0, done_ = 0, num_bad_ = 0;
  std::optional<Loaded> upcoming_;               // loaded, and of no group yet
  std::deque<std::vector<EvalSample>> waiting_;  // samples of groups still to be handed out
  ParallelMap<Loaded> loads_;                    // the last member: its threads use the others
};

}  // namespace tessera
