#include "infer/windows/window_team.h"

#include <ATen/ATen.h>

namespace tessera {

WindowPart WindowTeam::own_part(const WindowAxis& rows) const {
  if (size() == 1) return whole_part(rows);
  return deal_windows(rows, size()).at(static_cast<size_t>((ranks_->rank() - leader_ + size()) % size()));
}

at::Tensor WindowTeam::collect(const at::Tensor& own, const WindowAxis& rows, int64_t dim) const {
  if (size() == 1) return own;
  if (!leads()) {
    if (own.defined()) ranks_->send(own.to(at::kCPU).contiguous(), leader_);
    return {};
  }
  std::vector<int64_t> sizes = own.sizes().vec();
  const auto axis = static_cast<size_t>(dim);
  sizes[axis] = int64_t{rows.last} + rows.size;
  // The layout is that of one rank's result, as what is computed from it next may round by it.
  const at::Tensor all = at::empty(sizes, own.options(), own.suggest_memory_format());
  all.narrow(dim, 0, own.size(dim)).copy_(own);
  const std::vector<WindowPart> parts = deal_windows(rows, size());
  for (int i = 1; i < size(); ++i) {
    const WindowPart& part = parts[static_cast<size_t>(i)];
    if (part.empty()) continue;
    const at::Tensor place = all.narrow(dim, part.y, part.height);
    const bool direct = place.is_cpu() && place.is_contiguous();
    const at::Tensor received = direct ? place : at::empty(place.sizes(), place.options().device(at::kCPU));
    ranks_->receive(received, rank_of_part(i));
    if (!direct) place.copy_(received);
  }
  return all;
}

}  // namespace tessera
