#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dist/communicator.h"
#include "dist/meeting_watch.h"
#include "dist/rank_spec.h"

namespace c10d {
class Store;
}

namespace tessera {

// The ranks that train together, as one of them sees it. Three groups, because collectives of one group must come in the
// same order on every rank: gradients go out while the backward pass, which exchanges statistics, still runs.
struct World {
  RankSpec spec;
  Communicator control;    // on the CPU: decisions, metrics, texts
  Communicator gradients;  // on the device of the model
  Communicator norms;      // on the device of the model: batch-norm statistics

  World();  // alone
  World(RankSpec s, const c10::intrusive_ptr<c10d::Store>& store, bool cuda, std::chrono::seconds timeout);
  ~World();

  // Note [Meeting again]
  // A rank that runs out of memory within a step that others take part in cannot finish their collectives, and a collective
  // that failed is no place to agree on anything. So it leaves word in the ranks' store and closes its connections: the others'
  // collectives fail, they find the word, close theirs in turn, and all make new ones. What was under way in the old ones is
  // lost; all begin the step again. A rank that just ended left no word.
  //   On a GPU a collective is work like any other. Its connection comes with its first collective, which waits for all ranks
  // without an end: so it is made beforehand. And whoever waits for the device waits for the other ranks too, also to give
  // memory back: so each rank has a thread that looks for the word (MeetingWatch), and leaving comes before giving back.
  // Aborting waits for the device as well: so the connections of a device are aborted together.

  // Collective, before the first step: makes the connections between GPUs.
  void connect(at::Device device);

  // Whether a rank asked for it; to be asked after PeerLost.
  bool wants_to_meet_again() const;
  // By the rank that cannot go on, and by all others once they know: leaves word and closes the connections. No exchange may be
  // held. Waits for no rank, and behind it the device waits for none.
  void leave();
  // Collective, after `leave`: makes new connections.
  void meet_again();

  int rank() const { return spec.rank; }
  int size() const { return spec.world_size; }
  bool alone() const { return spec.world_size == 1; }
  bool is_first() const { return spec.rank == 0; }

 private:
  std::string again_key() const;
  void watch();

  bool cuda_ = false;
  std::optional<at::Device> device_;  // of the connections that are there
  std::chrono::seconds timeout_{0};
  int meetings_ = 0;                       // after the first one
  c10::intrusive_ptr<c10d::Store> store_;  // the server of the store lives as long as rank 0's world
  std::unique_ptr<MeetingWatch> watch_;    // of GPUs; ends before the connections do
};

// What has to be equal on all ranks, and what to call it when it is not: {"config", "3f2a..."}, {"build", "0.1.0
// (d07a72e)"}.
using Identity = std::vector<std::pair<std::string, std::string>>;

struct MeetOptions {
  bool cuda = false;
  std::chrono::seconds meet_timeout{300};  // for all ranks to come
  std::chrono::seconds timeout{1800};      // of a collective

  // The secret of the job (Note [Proof of a rank]); "" or no function: nobody is asked for one. Called once, by rank 0 before
  // anybody can find it, by ranks of the same host at once, and by the others when they have found it.
  std::function<std::string()> secret = {};
};

// Meets the other ranks at the master's address. Throws Error that names the ranks that did not come, the port that is
// taken, the rank that is there twice, the rank that runs something else, or the one that does not have the job's secret.
std::unique_ptr<World> meet_world(const RankSpec& spec, const Identity& identity, const MeetOptions& options);

// The CUDA plug-in offers NCCL here; without it GPU ranks cannot meet.
using BackendFactory = c10::intrusive_ptr<c10d::Backend> (*)(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                                             std::chrono::milliseconds timeout);
void register_nccl(BackendFactory factory);

}  // namespace tessera
