#include "train/recorded_pass.h"

#include <ATen/ATen.h>

#include "core/log.h"

namespace tessera {
namespace {

// Libraries try their algorithms out in the first passes and allocate what they keep.
constexpr int kPassesBefore = 3;

// Of a GPU's memory: recorded kernels keep theirs while others, such as those of evaluation, need some too. Passes that take
// more have kernels long enough to hide the CPU.
constexpr double kMostMemory = 0.25;

// Shapes that change now and then would cost more than recording gains.
constexpr int kMostRecordings = 3;

// Replays after which a recording has gained more than it cost, as where images grow in the course of a run.
constexpr int kReplaysWorthIt = 50;

at::Tensor shape_of(const at::Tensor& x) {
  return x.defined() ? at::empty_like(x, x.options().device(at::kMeta)) : at::Tensor();
}

bool alike(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type();
}

}  // namespace

at::Tensor RecordedPass::run(const std::vector<at::Tensor*>& inputs, const std::function<at::Tensor()>& body) {
  if (record_ != nullptr && !has_shapes_of(inputs)) {
    forget();
    if (recordings_ == kMostRecordings) {
      log_debug("a step's pass is no longer recorded: its shapes keep changing");
      stop();
    }
    for (const at::Tensor* input : inputs) shapes_.push_back(shape_of(*input));
  }
  if (record_ == nullptr || passes_ < kPassesBefore) {
    ++passes_;
    return body();
  }
  if (work_ == nullptr && !record(inputs, body)) return body();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs_[i].defined()) inputs_[i].copy_(*inputs[i]);
  }
  work_->replay();
  ++replays_;
  return output_.clone();  // the next pass overwrites it
}

void RecordedPass::forget() {
  if (replays_ >= kReplaysWorthIt) --recordings_;
  replays_ = 0;
  work_ = nullptr;
  output_ = at::Tensor();
  shapes_.clear();
  inputs_.clear();
  passes_ = 0;
}

void RecordedPass::stop() {
  forget();
  record_ = nullptr;
}

bool RecordedPass::has_shapes_of(const std::vector<at::Tensor*>& inputs) const {
  if (shapes_.size() != inputs.size()) return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!alike(shapes_[i], *inputs[i])) return false;
  }
  return true;
}

// False: this pass and all that follow are run as they are.
bool RecordedPass::record(const std::vector<at::Tensor*>& inputs, const std::function<at::Tensor()>& body) {
  std::vector<at::Tensor> given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    given.push_back(*inputs[i]);
    inputs_.push_back(given[i].defined() ? given[i].clone() : at::Tensor());
    *inputs[i] = inputs_[i];
  }
  ++recordings_;
  std::string why;
  try {
    work_ = record_(device_.index(), [&] { output_ = body(); });
    const int64_t all = cuda_plugin() != nullptr ? cuda_plugin()->gpus()[static_cast<size_t>(device_.index())].memory_bytes : 0;
    if (all > 0 && static_cast<double>(work_->bytes()) > kMostMemory * static_cast<double>(all))
      why = fmt::format("its kernels would keep {:.1f} of {:.1f} GB of memory", work_->bytes() / 1e9, all / 1e9);
  } catch (const c10::Error& error) {
    why = error.what_without_backtrace();
  }
  for (size_t i = 0; i < inputs.size(); ++i) *inputs[i] = given[i];
  if (why.empty()) return true;
  log_debug("a step's pass is not recorded: {}", why);
  stop();
  return false;
}

}  // namespace tessera
