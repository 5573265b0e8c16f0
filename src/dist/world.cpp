#include "dist/world.h"

#include <torch/types.h>

#include <cstdlib>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "core/error.h"
#include "dist/local_address.h"

namespace tessera {
namespace {

BackendFactory nccl = nullptr;

// libtorch notes every collective in one table per process, and looks up a group's entry there before it takes the table's
// lock: two groups whose first collectives come from two threads crash in it. Nobody reads that table here, so it is off,
// before main, since the environment must not change while threads read it.
const bool flight_recorder_off = setenv("TORCH_FR_BUFFER_SIZE", "0", 1) == 0;

// The watchdog of connections between GPUs that finds an error sleeps four times as long, for the ranks to write that table
// down, and then ends the process. What is left is time to find the word of a rank that gave up: Note [Meeting again]. It would
// also ask every rank to write, and their connections could then be closed eight minutes later only.
const bool watchdog_is_quick = setenv("TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC", "1000", 0) == 0;
const bool nothing_is_written = setenv("TORCH_NCCL_DUMP_ON_TIMEOUT", "0", 0) == 0;

c10::intrusive_ptr<c10d::Backend> make_gloo(const c10::intrusive_ptr<c10d::Store>& store, const RankSpec& spec,
                                            std::chrono::milliseconds timeout) {
  const auto options = c10d::ProcessGroupGloo::Options::create(timeout);
  options->devices = {c10d::ProcessGroupGloo::createDeviceForHostname(local_address(spec.master_addr, spec.master_port))};
  options->threads = 2;
  return c10::make_intrusive<c10d::ProcessGroupGloo>(store, spec.rank, spec.world_size, options);
}

// Each meeting has keys of its own.
c10::intrusive_ptr<c10d::Backend> make_backend(const char* name, const c10::intrusive_ptr<c10d::Store>& store,
                                               const RankSpec& spec, int meeting, bool cuda,
                                               std::chrono::milliseconds timeout) {
  const std::string prefix =
      meeting == 0 ? fmt::format("{}/{}", spec.generation, name) : fmt::format("{}/{}/{}", spec.generation, name, meeting);
  const auto own = c10::make_intrusive<c10d::PrefixStore>(prefix, store);
  if (!cuda) return make_gloo(own, spec, timeout);
  TSR_CHECK(nccl != nullptr, "several GPUs need NCCL, which this build's CUDA plug-in does not have; use one GPU");
  return nccl(own, spec.rank, spec.world_size, timeout);
}

}  // namespace

void register_nccl(BackendFactory factory) {
  nccl = factory;
}

World::World(RankSpec s, const c10::intrusive_ptr<c10d::Store>& store, bool cuda, std::chrono::seconds timeout)
    : spec(std::move(s)),
      control(make_backend("control", store, spec, 0, false, timeout), spec.rank, spec.world_size),
      gradients(make_backend("gradients", store, spec, 0, cuda, timeout), spec.rank, spec.world_size),
      norms(make_backend("norms", store, spec, 0, cuda, timeout), spec.rank, spec.world_size),
      cuda_(cuda),
      timeout_(timeout),
      store_(store) {}

std::string World::again_key() const {
  return fmt::format("{}/again/{}", spec.generation, meetings_ + 1);
}

bool World::wants_to_meet_again() const {
  return store_->check({again_key()});
}

void World::watch() {
  watch_ = std::make_unique<MeetingWatch>([store = store_, key = again_key()] { return store->check({key}); },
                                          [this] {
                                            abort_together({&gradients, &norms});
                                          });
}

void World::connect(at::Device device) {
  if (!cuda_) return;
  device_ = device;
  for (Communicator* group : {&gradients, &norms}) group->sum(at::zeros({1}, device));
  watch();
}

// Gradients last: their collectives are the only ones that may still be under way, and only end when both sides are at them or
// one of them is closed.
void World::leave() {
  store_->set(again_key(), std::vector<uint8_t>{1});
  watch_.reset();
  control.close();
  if (cuda_) abort_together({&gradients, &norms});
  norms.close();
  gradients.close();
}

void World::meet_again() {
  ++meetings_;
  control.reopen(make_backend("control", store_, spec, meetings_, false, timeout_));
  gradients.reopen(make_backend("gradients", store_, spec, meetings_, cuda_, timeout_));
  norms.reopen(make_backend("norms", store_, spec, meetings_, cuda_, timeout_));
  if (device_) connect(*device_);
}

World::World() = default;
World::~World() = default;

}  // namespace tessera
