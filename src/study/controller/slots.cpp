#include "study/controller/slots.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr int kMostPerGpu = 4;       // beyond, trials only wait for one another
constexpr int kCoresOfTrial = 4;     // with fewer a training is slow, with more it does not get faster in proportion
constexpr double kContext_mb = 600;  // of a GPU, that each process has beside its tensors
constexpr double kUsable = 0.9;      // of a memory: what trials need varies

}  // namespace

Slots::Slots(const ResourceSettings& settings, Machine machine, std::optional<int> executor_limit)
    : settings_(settings), machine_(std::move(machine)), limit_(executor_limit) {}

int Slots::per_gpu() const {
  if (settings_.per_gpu > 0) return static_cast<int>(settings_.per_gpu);
  if (needed_mb_ <= 0) return 1;  // until one has been seen
  const double least = *std::min_element(machine_.gpu_memory_mb.begin(), machine_.gpu_memory_mb.end());
  return std::clamp(static_cast<int>(std::floor(kUsable * least / (needed_mb_ + kContext_mb))), 1, kMostPerGpu);
}

int Slots::most_at_once() const {
  const int ranks = static_cast<int>(settings_.ranks), gpus = static_cast<int>(machine_.gpu_memory_mb.size());
  int most = 0;
  if (gpus > 0) {
    most = ranks > 1 ? std::max(1, gpus / ranks) : gpus * per_gpu();
  } else if (limit_) {
    most = *limit_;
  } else {
    const int cores = settings_.cores > 0 ? static_cast<int>(settings_.cores) : std::min(kCoresOfTrial, machine_.cores) * ranks;
    most = std::max(1, machine_.cores / std::max(1, cores));
    if (needed_mb_ > 0 && machine_.memory_mb > 0)
      most = std::clamp(static_cast<int>(kUsable * machine_.memory_mb / needed_mb_), 1, most);
  }
  if (settings_.at_once == 0) return most;
  // What a person says counts, but not for GPUs that several ranks cannot share.
  return gpus > 0 && ranks > 1 ? std::min(most, static_cast<int>(settings_.at_once)) : static_cast<int>(settings_.at_once);
}

int Slots::cores_each() const {
  if (settings_.cores > 0) return static_cast<int>(settings_.cores);
  if (limit_) return 0;
  // A trial keeps its cores, and others come beside it once it has shown what fits.
  const bool more_may_fit = !machine_.gpu_memory_mb.empty() && settings_.ranks == 1 && settings_.at_once == 0 &&
                            settings_.per_gpu == 0 && needed_mb_ <= 0;
  return std::max(1, machine_.cores / (most_at_once() * (more_may_fit ? kMostPerGpu : 1)));
}

std::optional<TrialPlace> Slots::take(int64_t number, bool alone) {
  if (static_cast<int>(tenants_.size()) >= most_at_once()) return std::nullopt;
  const int gpus = static_cast<int>(machine_.gpu_memory_mb.size());
  if (gpus == 0) {
    const bool blocked = std::any_of(tenants_.begin(), tenants_.end(), [](const auto& t) { return t.second.alone; });
    if (!limit_ && (blocked || (alone && !tenants_.empty()))) return std::nullopt;
    tenants_[number] = {{.cores = cores_each()}, alone};
    return tenants_[number].place;
  }
  std::vector<int> used(static_cast<size_t>(gpus), 0);
  std::vector<bool> closed(static_cast<size_t>(gpus), false);
  for (const auto& [other, tenant] : tenants_) {
    for (const int gpu : tenant.place.gpus) {
      ++used[static_cast<size_t>(gpu)];
      if (tenant.alone) closed[static_cast<size_t>(gpu)] = true;
    }
  }
  const int ranks = static_cast<int>(settings_.ranks), wanted = std::min(ranks, gpus);
  const int most = ranks > 1 || alone ? 1 : std::max(per_gpu(), (most_at_once() + gpus - 1) / gpus);
  std::vector<int> order(static_cast<size_t>(gpus));
  for (int gpu = 0; gpu < gpus; ++gpu) order[static_cast<size_t>(gpu)] = gpu;
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return used[static_cast<size_t>(a)] < used[static_cast<size_t>(b)]; });
  TrialPlace place{.cores = cores_each()};
  for (const int gpu : order) {
    if (static_cast<int>(place.gpus.size()) == wanted) break;
    if (!closed[static_cast<size_t>(gpu)] && used[static_cast<size_t>(gpu)] < most) place.gpus.push_back(gpu);
  }
  if (static_cast<int>(place.gpus.size()) < wanted) return std::nullopt;
  tenants_[number] = {place, alone};
  return place;
}

void Slots::keep(int64_t number, const TrialPlace& place, bool alone) {
  const int gpus = static_cast<int>(machine_.gpu_memory_mb.size());
  Tenant tenant{place, alone};
  std::erase_if(tenant.place.gpus, [&](int gpu) { return gpu >= gpus; });  // the machine had more
  tenants_[number] = std::move(tenant);
}

void Slots::release(int64_t number) {
  tenants_.erase(number);
}

bool Slots::shares(int64_t number) const {
  const auto own = tenants_.find(number);
  return own != tenants_.end() && std::any_of(tenants_.begin(), tenants_.end(), [&](const auto& entry) {
           const std::vector<int>&a = own->second.place.gpus, &b = entry.second.place.gpus;
           return entry.first != number &&
                  ((a.empty() && b.empty()) || std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end());
         });
}

void Slots::note_memory(double mb) {
  needed_mb_ = std::max(needed_mb_, mb);
}

}  // namespace tessera
