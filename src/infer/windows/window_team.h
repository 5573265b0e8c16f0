#pragma once
#include <ATen/core/Tensor.h>

#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "dist/communicator.h"
#include "infer/windows/window_grid.h"
#include "tensor/error_text.h"
#include "tensor/too_large.h"

namespace tessera {

// Note [Windows on several ranks]
// Ranks that have the same images compute a part of the windows each, and one of them, the leader, collects the pixels. The
// result has the bits that one rank alone would give: forward passes hold the same windows (a rank also computes what shares a
// pass with its own), each pixel's windows are added up by one rank, all of them and in the same order, and parts are cut
// where one rank cuts its bands. Each rank needs the memory of its part; the leader that of the result.
//   A rank that cannot go on must not leave the others waiting for it. So they say to one another how it goes, always before
// parts are sent and at the end of all (`attempt`); behind that word nothing is taken that could be missing before all is sent.

// How a rank's part of what a team does together went, from good to bad. The worst of all counts.
enum class TeamWord {
  kWell,
  kAgain,   // memory ran out, and there is a way to take less
  kAlone,   // memory ran out, and there is none: the leader may find one by itself
  kFailed,  // something else
};

class WindowTeam {
 public:
  WindowTeam() = default;  // one rank alone
  WindowTeam(Communicator& ranks, int leader) : ranks_(&ranks), leader_(leader) {}

  bool alone() const { return size() == 1; }
  bool leads() const { return ranks_ == nullptr || ranks_->rank() == leader_; }

  // This rank's part; the leader's is the first, so that it is never empty.
  WindowPart own_part(const WindowAxis& rows) const;

  // The parts of all, joined along `dim`, on the leader; elsewhere undefined. own: undefined where the part is empty. All ranks
  // call it, also those whose part is empty, in `attempt`.
  at::Tensor collect(const at::Tensor& own, const WindowAxis& rows, int64_t dim) const;

  // Does `work`, this rank's part of what all do together, and sets `done` where it is whole on all ranks. Returns the worst of
  // all words, the same on all ranks. takes_less: asked on a rank whose memory ran out, for whether it can do the same with
  // less; `why` is for a warning. Throws on all ranks where one failed for another reason. Collective.
  template <class Result, class Work>
  TeamWord attempt(std::optional<Result>& done, const Work& work,
                   const std::function<bool(const std::string& why)>& takes_less) const;

 private:
  struct Interrupted {  // another rank is not well, which all know
    TeamWord worst;
  };

  int size() const { return ranks_ == nullptr ? 1 : ranks_->size(); }
  int rank_of_part(int part) const { return (leader_ + part) % size(); }
  TeamWord worst_of_all(TeamWord own) const;  // collective
  void hear() const;                          // throws Interrupted where another rank is not well. Collective

  Communicator* ranks_ = nullptr;
  int leader_ = 0;
};

template <class Result, class Work>
TeamWord WindowTeam::attempt(std::optional<Result>& done, const Work& work,
                             const std::function<bool(const std::string& why)>& takes_less) const {
  done.reset();
  TeamWord own = TeamWord::kWell, worst = TeamWord::kWell;
  std::exception_ptr error;
  try {
    done = work();
    worst = worst_of_all(own);
  } catch (const Interrupted& heard) {
    worst = heard.worst;
  } catch (const PeerLost&) {
    throw;  // there is nobody to tell
  } catch (const std::exception& e) {
    error = std::current_exception();
    const std::string why = why_too_large(e);
    own = why.empty() ? TeamWord::kFailed : takes_less(why) ? TeamWord::kAgain : TeamWord::kAlone;
    release_kept_memory();
    worst = worst_of_all(own);
  }
  if (own == TeamWord::kFailed) std::rethrow_exception(error);
  if (worst == TeamWord::kFailed) fail("another rank failed at its part of an image; its own log says why");
  if (worst != TeamWord::kWell) done.reset();
  return worst;
}

}  // namespace tessera
