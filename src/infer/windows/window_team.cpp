#include "infer/windows/window_team.h"

#include <ATen/ATen.h>

#include <vector>

namespace tessera {

TeamWord WindowTeam::worst_of_all(TeamWord own) const {
  at::Tensor worst = make_with_kept_memory([&] { return at::scalar_tensor(static_cast<int64_t>(own), at::kLong); });
  ranks_->max(worst);
  return static_cast<TeamWord>(worst.item<int64_t>());
}

void WindowTeam::hear() const {
  const TeamWord worst = worst_of_all(TeamWord::kWell);
  if (worst != TeamWord::kWell) throw Interrupted{worst};
}

WindowPart WindowTeam::own_part(const WindowAxis& rows) const {
  if (size() == 1) return whole_part(rows);
  return deal_windows(rows, size()).at(static_cast<size_t>((ranks_->rank() - leader_ + size()) % size()));
}

at::Tensor WindowTeam::collect(const at::Tensor& own, const WindowAxis& rows, int64_t dim) const {
  if (size() == 1) return own;
  if (!leads()) {
    const at::Tensor sent = own.defined() ? own.to(at::kCPU).contiguous() : own;
    hear();
    if (sent.defined()) ranks_->send(sent, leader_);
    return {};
  }
  std::vector<int64_t> sizes = own.sizes().vec();
  const auto axis = static_cast<size_t>(dim);
  sizes[axis] = int64_t{rows.last} + rows.size;
  // The layout is that of one rank's result, as what is computed from it next may round by it.
  const at::Tensor all = at::empty(sizes, own.options(), own.suggest_memory_format());
  all.narrow(dim, 0, own.size(dim)).copy_(own);
  struct Arrival {
    int from;
    at::Tensor place, received;
  };
  std::vector<Arrival> arrivals;
  const std::vector<WindowPart> parts = deal_windows(rows, size());
  for (int i = 1; i < size(); ++i) {
    const WindowPart& part = parts[static_cast<size_t>(i)];
    if (part.empty()) continue;
    const at::Tensor place = all.narrow(dim, part.y, part.height);
    const bool direct = place.is_cpu() && place.is_contiguous();
    arrivals.push_back({rank_of_part(i), place, direct ? place : at::empty(place.sizes(), place.options().device(at::kCPU))});
  }
  hear();
  for (const Arrival& arrival : arrivals) ranks_->receive(arrival.received, arrival.from);
  for (const Arrival& arrival : arrivals) {
    if (!arrival.received.is_same(arrival.place)) arrival.place.copy_(arrival.received);
  }
  return all;
}

}  // namespace tessera
