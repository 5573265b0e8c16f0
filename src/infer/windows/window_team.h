#pragma once
#include <ATen/core/Tensor.h>

#include "dist/communicator.h"
#include "infer/windows/window_grid.h"

namespace tessera {

// Note [Windows on several ranks]
// Ranks that have the same images compute a part of the windows each, and one of them, the leader, collects the pixels. The
// result has the bits that one rank alone would give: forward passes hold the same windows (a rank also computes what shares a
// pass with its own), each pixel's windows are added up by one rank, all of them and in the same order, and parts are cut
// where one rank cuts its bands. Each rank needs the memory of its part; the leader that of the result.
class WindowTeam {
 public:
  WindowTeam() = default;  // one rank alone
  WindowTeam(Communicator& ranks, int leader) : ranks_(&ranks), leader_(leader) {}

  bool alone() const { return size() == 1; }
  bool leads() const { return ranks_ == nullptr || ranks_->rank() == leader_; }

  // This rank's part; the leader's is the first, so that it is never empty.
  WindowPart own_part(const WindowAxis& rows) const;

  // The parts of all, joined along `dim`, on the leader; elsewhere undefined. own: undefined where the part is empty.
  at::Tensor collect(const at::Tensor& own, const WindowAxis& rows, int64_t dim) const;

 private:
  int size() const { return ranks_ == nullptr ? 1 : ranks_->size(); }
  int rank_of_part(int part) const { return (leader_ + part) % size(); }

  Communicator* ranks_ = nullptr;
  int leader_ = 0;
};

}  // namespace tessera
