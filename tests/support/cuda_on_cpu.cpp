#define TESSERA_CUDA_ON_CPU
#include "support/cuda_on_cpu.h"

#include <setjmp.h>
#include <ucontext.h>

#include <array>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

namespace tessera::on_cpu {
namespace {

constexpr size_t kStackBytes = 128 << 10;

// Threads that wait for one another.
struct Group {
  int live = 0, arrived = 0, generation = 0;
};

struct Fiber {
  jmp_buf place;
  dim3 index;
  Group* warp;
  const Group* waits = nullptr;  // for a generation after `generation`
  size_t number;
  int generation = 0;
  int published = 0;  // the warp's generation then
  bool started = false, done = false;
  std::unique_ptr<unsigned char[]> stack;
};

// What a thread published in a generation of its warp.
struct Slot {
  std::array<unsigned char, 16> bytes;
  int generation = -1;
};

// The one block that runs.
struct Block {
  std::vector<Fiber> fibers;
  std::vector<Group> warps;
  std::array<std::vector<Slot>, 2> slots;
  Group all;
  std::vector<unsigned char> shared;
  const std::function<void()>* kernel = nullptr;
  Fiber* current = nullptr;
  jmp_buf scheduler;
  bool progress = false;
};
Block block;
std::vector<Registration>& registrations() {
  static std::vector<Registration> all;
  return all;
}

void start_fiber() {
  (*block.kernel)();
  Fiber& fiber = *block.current;
  fiber.done = true;
  --fiber.warp->live;
  --block.all.live;
  block.progress = true;
  _longjmp(block.scheduler, 1);
}

bool is_open(const Group& group, int generation) {
  return group.generation != generation || group.arrived >= group.live;
}

void wait_for(const Group& group, int generation) {
  Fiber& fiber = *block.current;
  fiber.waits = &group;
  fiber.generation = generation;
  if (_setjmp(fiber.place) == 0) _longjmp(block.scheduler, 1);
  block.current->waits = nullptr;
}

void resume(Fiber& fiber) {
  block.current = &fiber;
  threadIdx = fiber.index;
  if (_setjmp(block.scheduler) != 0) return;
  if (fiber.started) _longjmp(fiber.place, 1);
  fiber.started = true;
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = fiber.stack.get();
  context.uc_stack.ss_size = kStackBytes;
  context.uc_link = nullptr;
  makecontext(&context, start_fiber, 0);
  setcontext(&context);
}

void open(Group& group) {
  group.arrived = 0;
  ++group.generation;
  block.progress = true;
}

void sync(Group& group) {
  const int generation = group.generation;
  ++group.arrived;
  while (group.generation == generation) {
    if (group.arrived >= group.live) return open(group);  // threads that returned are not waited for
    wait_for(group, generation);
  }
}

void run_block() {
  while (block.all.live > 0) {
    block.progress = false;
    for (Fiber& fiber : block.fibers) {
      if (!fiber.done && (fiber.waits == nullptr || is_open(*fiber.waits, fiber.generation))) resume(fiber);
    }
    if (!block.progress) throw std::logic_error("the threads of a block wait for one another");
  }
}

}  // namespace

void run_grid(dim3 grid, dim3 size, size_t shared, const std::function<void()>& kernel) {
  const size_t threads = size_t{size.x} * size.y * size.z;
  constexpr unsigned kMostBlocks = 65535;        // of the second and the third dimension
  constexpr size_t kMostSharedBytes = 99 << 10;  // of the smallest GPUs from sm_80 on
  if (threads == 0 || threads > 1024 || size_t{grid.x} * grid.y * grid.z == 0 || grid.x > INT32_MAX || grid.y > kMostBlocks ||
      grid.z > kMostBlocks || shared > kMostSharedBytes) {
    throw std::logic_error("no GPU takes such a grid");
  }
  block.fibers.resize(threads);
  block.shared.assign(shared + 16, 0xcd);
  block.kernel = &kernel;
  blockDim = size;
  gridDim = grid;
  for (Fiber& fiber : block.fibers) {
    if (!fiber.stack) fiber.stack = std::make_unique<unsigned char[]>(kStackBytes);
  }
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = dim3(x, y, z);
        block.warps.assign((threads + 31) / 32, {});
        block.all = {static_cast<int>(threads), 0, 0};
        for (std::vector<Slot>& slots : block.slots) slots.assign(block.warps.size() * 32, {});
        for (size_t i = 0; i < threads; ++i) {
          Fiber& fiber = block.fibers[i];
          fiber.index = dim3(static_cast<unsigned>(i % size.x), static_cast<unsigned>(i / size.x % size.y),
                             static_cast<unsigned>(i / size.x / size.y));
          fiber.warp = &block.warps[i / 32];
          ++fiber.warp->live;
          fiber.number = i;
          fiber.waits = nullptr;
          fiber.started = fiber.done = false;
        }
        run_block();
      }
    }
  }
}

unsigned char* shared_bytes() {
  return reinterpret_cast<unsigned char*>((reinterpret_cast<uintptr_t>(block.shared.data()) + 15) / 16 * 16);
}
void sync_block() {
  sync(block.all);
}
void sync_warp() {
  sync(*block.current->warp);
}
// By turns into two slots: when a thread publishes into this one again, all have read it.
void publish(const void* value, size_t size) {
  Fiber& fiber = *block.current;
  fiber.published = fiber.warp->generation;
  Slot& slot = block.slots[fiber.published % 2][fiber.number];
  std::memcpy(slot.bytes.data(), value, size);
  slot.generation = fiber.published;
  sync_warp();
}
namespace {
const Slot& slot_of(unsigned lane) {
  const Fiber& fiber = *block.current;
  return block.slots[fiber.published % 2][fiber.number / 32 * 32 + lane];
}
}  // namespace
const void* published(unsigned lane) {
  return slot_of(lane).bytes.data();
}
bool took_part(unsigned lane) {
  return slot_of(lane).generation == block.current->published;
}
unsigned lane() {
  return static_cast<unsigned>(block.current->number % 32);
}

Registrar::Registrar(Registration registration) {
  registrations().push_back(registration);
}

void use_cuda_kernels() {
  static torch::Library library(torch::Library::IMPL, "tessera", c10::DispatchKey::CPU, __FILE__, __LINE__);
  for (const Registration registration : registrations()) registration(library);
}

}  // namespace tessera::on_cpu
