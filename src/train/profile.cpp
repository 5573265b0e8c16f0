#include "train/profile.h"

#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "core/clock.h"
#include "tensor/device.h"
#include "tensor/profiled_part.h"

namespace tessera {
namespace {

namespace profiler = torch::autograd::profiler;
using profiler::KinetoEvent;
using torch::profiler::impl::ActivityType;

// In the order in which they begin; what holds others before them.
void sort_by_begin(std::vector<const KinetoEvent*>& events) {
  std::sort(events.begin(), events.end(), [](const KinetoEvent* a, const KinetoEvent* b) {
    return std::tuple(a->startThreadId(), a->startNs(), b->durationNs()) <
           std::tuple(b->startThreadId(), b->startNs(), a->durationNs());
  });
}

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

bool is_part(const KinetoEvent& event) {
  return event.deviceType() == at::kCPU && event.name().starts_with(kPartPrefix);
}

std::vector<OpTime> op_times(const std::vector<KinetoEvent>& all, at::Device device) {
  std::vector<const KinetoEvent*> events;
  for (const KinetoEvent& event : all) {
    // A GPU's timeline has the parts as marks, too.
    if (event.deviceType() == device.type() && event.name().find(kPartPrefix) == std::string::npos) events.push_back(&event);
  }
  sort_by_begin(events);
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
  return ops;
}

// The innermost part at a time, whatever thread ran then: the backward pass of a GPU has one of its own.
class PartsByTime {
 public:
  explicit PartsByTime(std::vector<const KinetoEvent*> parts) : parts_(std::move(parts)) {}

  // Its number; -1 where there is none.
  int64_t at(uint64_t ns) const {
    int64_t found = -1;
    for (size_t i = 0; i < parts_.size() && parts_[i]->startNs() <= ns; ++i) {
      if (parts_[i]->startNs() + parts_[i]->durationNs() > ns) found = static_cast<int64_t>(i);
    }
    return found;
  }

 private:
  std::vector<const KinetoEvent*> parts_;  // in the order in which they begin
};

// Milliseconds of the kernels that were sent in each part.
std::vector<double> kernel_times(const std::vector<KinetoEvent>& all, const std::vector<const KinetoEvent*>& parts) {
  std::unordered_map<uint64_t, uint64_t> began;  // when the operation with this number began
  for (const KinetoEvent& event : all) {
    if (event.deviceType() == at::kCPU) began.emplace(event.correlationId(), event.startNs());
  }
  const PartsByTime by_time(parts);
  std::vector<double> ms(parts.size(), 0);
  for (const KinetoEvent& event : all) {
    if (event.deviceType() == at::kCPU || event.name().find(kPartPrefix) != std::string::npos) continue;
    const auto sender = began.find(event.linkedCorrelationId());
    if (sender == began.end()) continue;
    const int64_t part = by_time.at(sender->second);
    if (part >= 0) ms[static_cast<size_t>(part)] += 1e-6 * static_cast<double>(event.durationNs());
  }
  return ms;
}

std::vector<PartTime> part_times(const std::vector<KinetoEvent>& all, at::Device device) {
  std::vector<const KinetoEvent*> events;
  for (const KinetoEvent& event : all) {
    if (is_part(event)) events.push_back(&event);
  }
  sort_by_begin(events);
  const std::vector<uint64_t> own = own_times(events);
  const std::vector<double> kernels = device.is_cuda() ? kernel_times(all, events) : std::vector<double>();
  std::vector<PartTime> parts;
  for (size_t i = 0; i < events.size(); ++i) {
    const std::string name = events[i]->name().substr(kPartPrefix.size());
    auto part = std::find_if(parts.begin(), parts.end(), [&](const PartTime& p) { return p.name == name; });
    if (part == parts.end()) part = parts.insert(part, PartTime{.name = name});
    const double host_ms = 1e-6 * static_cast<double>(own[i]);
    ++part->times;
    part->host_ms += host_ms;
    part->ms += device.is_cuda() ? kernels[i] : host_ms;
  }
  return parts;
}

}  // namespace

ProfileSession::ProfileSession(at::Device device) : device_(device) {
  const torch::profiler::impl::ProfilerConfig config(torch::profiler::impl::ProfilerState::KINETO);
  std::set<ActivityType> activities{ActivityType::CPU};
  if (device.is_cuda()) activities.insert(ActivityType::CUDA);
  profiler::prepareProfiler(config, activities);
  // Backward runs on a thread of its own.
  profiler::enableProfiler(config, activities,
                           {at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION, at::RecordScope::USER_SCOPE});
  begin_ns_ = monotonic_ns();
}

ProfileSession::~ProfileSession() {
  try {
    if (!stopped_) profiler::disableProfiler();
  } catch (const std::exception&) {
    return;  // there is nothing more to record
  }
}

Profile ProfileSession::stop(const std::string& trace_file) {
  if (device_.is_cuda()) cuda_plugin()->synchronize(device_.index());
  Profile result{.ops = {}, .parts = {}, .wall_ms = 1e-6 * static_cast<double>(monotonic_ns() - begin_ns_)};
  stopped_ = true;
  const auto recorded = profiler::disableProfiler();
  result.ops = op_times(recorded->events(), device_);
  result.parts = part_times(recorded->events(), device_);
  if (!trace_file.empty()) recorded->save(trace_file);
  return result;
}

std::vector<OpTime> profile(at::Device device, const std::function<void()>& work, const std::string& trace_file) {
  ProfileSession session(device);
  work();
  return session.stop(trace_file).ops;
}

}  // namespace tessera
