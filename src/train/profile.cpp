#include "train/profile.h"

#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "tensor/device.h"

namespace tessera {
namespace {

using torch::autograd::profiler::KinetoEvent;

// Time of each event less that of the events inside it, which come after it in this order.
std::vector<uint64_t> own_times(const std::vector<const KinetoEvent*>& events) {
  std::vector<uint64_t> own;
  std::vector<size_t> open;  // events that hold the present one
  for (size_t i = 0; i < events.size(); ++i) {
    const KinetoEvent& event = *events[i];
    const auto holds = [&](const KinetoEvent& other) {
      return other.startThreadId() == event.startThreadId() && other.startNs() + other.durationNs() > event.startNs();
    };
    while (!open.empty() && !holds(*events[open.back()])) open.pop_back();
    if (!open.empty()) own[open.back()] -= std::min(own[open.back()], event.durationNs());
    own.push_back(event.durationNs());
    open.push_back(i);
  }
  return own;
}

}  // namespace

std::vector<OpTime> profile(at::Device device, const std::function<void()>& work, const std::string& trace_file) {
  namespace profiler = torch::autograd::profiler;
  using torch::profiler::impl::ActivityType;
  const torch::profiler::impl::ProfilerConfig config(torch::profiler::impl::ProfilerState::KINETO);
  std::set<ActivityType> activities{ActivityType::CPU};
  if (device.is_cuda()) activities.insert(ActivityType::CUDA);
  profiler::prepareProfiler(config, activities);
  // Backward runs on a thread of its own.
  profiler::enableProfiler(config, activities, {at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION});
  work();
  if (device.is_cuda()) cuda_plugin()->synchronize(device.index());
  const auto result = profiler::disableProfiler();
  std::vector<const KinetoEvent*> events;
  for (const KinetoEvent& event : result->events()) {
    if (event.deviceType() == device.type()) events.push_back(&event);
  }
  std::sort(events.begin(), events.end(), [](const KinetoEvent* a, const KinetoEvent* b) {
    return std::tuple(a->startThreadId(), a->startNs(), b->durationNs()) <
           std::tuple(b->startThreadId(), b->startNs(), a->durationNs());
  });
  const std::vector<uint64_t> own = own_times(events);
  std::map<std::string, OpTime> by_name;
  for (size_t i = 0; i < events.size(); ++i) {
    OpTime& op = by_name[events[i]->name()];
    ++op.calls;
    op.ms += 1e-6 * static_cast<double>(device.is_cuda() ? events[i]->durationNs() : own[i]);
  }
  std::vector<OpTime> ops;
  for (auto& [name, op] : by_name) ops.push_back({name, op.calls, op.ms});
  std::sort(ops.begin(), ops.end(), [](const OpTime& a, const OpTime& b) { return a.ms > b.ms; });
  if (!trace_file.empty()) result->save(trace_file);
  return ops;
}

}  // namespace tessera
