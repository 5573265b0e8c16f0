#include "dist/communicator.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <latch>
#include <thread>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "core/error.h"
#include "dist/adasum.h"
#include "dist/thread_ranks.h"

namespace tessera {
namespace {

void on_ranks(int size, const std::function<void(World&)>& body) {
  run_on_threads(size, false, std::chrono::seconds(120), body);
}

TEST(Communicator, CollectivesOverThreeRanks) {
  on_ranks(3, [](World& world) {
    at::Tensor sum = at::full({5}, world.rank() + 1, at::kDouble), max = at::full({2}, world.rank(), at::kLong);
    world.control.sum(sum);
    world.control.max(max);
    EXPECT_TRUE(sum.equal(at::full({5}, 6, at::kDouble)));
    EXPECT_EQ(max[0].item<int64_t>(), 2);
    at::Tensor value = at::full({3}, world.rank(), at::kFloat);
    world.control.broadcast(value, 1);
    EXPECT_EQ(value[2].item<float>(), 1.0F);
    EXPECT_TRUE(world.control.gather(at::scalar_tensor(world.rank(), at::kLong)).equal(at::arange(3, at::kLong)));
    const std::vector<std::string> expected{"", "1", "22"};
    EXPECT_EQ(world.control.gather_text(std::string(static_cast<size_t>(world.rank()), static_cast<char>('0' + world.rank()))),
              expected);
    world.control.barrier();
  });
}

// Its abort waits for that of another group, as on a GPU where a collective of one stands behind one of the other.
class WaitsForTheOther : public c10d::Backend {
 public:
  explicit WaitsForTheOther(std::latch& both) : Backend(0, 2), both_(both) {}
  void abort() override {
    both_.count_down();
    for (int i = 0; i < 5000 && !both_.try_wait(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(both_.try_wait());
  }

 private:
  std::latch& both_;
};

TEST(Communicator, AbortsOfAllGroupsBeginBeforeOneIsWaitedFor) {
  std::latch both(2);
  const auto group = [&] { return Communicator(c10::make_intrusive<WaitsForTheOther>(both), 0, 2); };
  Communicator gradients = group(), norms = group();
  abort_together({&gradients, &norms});
}

// One rank cannot go on; another is in a collective of the whole world, a third in one that is under way.
TEST(World, WhereARankGivesUpAllMeetAgain) {
  for (const int quitter : {0, 1, 2}) {
    on_ranks(3, [quitter](World& world) {
      for (int time = 0; time < 2; ++time) {
        if (world.rank() != quitter) {
          at::Tensor value = at::ones({1000}, at::kDouble);
          const bool waits = world.rank() == (quitter + 1) % 3;
          try {
            if (waits) {
              world.norms.sum(value);
            } else {
              Exchange exchange = world.gradients.begin_sum(value);
              world.control.barrier();
            }
            ADD_FAILURE() << "a collective without rank " << quitter;
          } catch (const PeerLost&) {
            EXPECT_TRUE(world.wants_to_meet_again());
          }
        }
        world.leave();
        world.meet_again();
        EXPECT_FALSE(world.wants_to_meet_again());
        for (Communicator* group : {&world.control, &world.gradients, &world.norms}) {
          at::Tensor sum = at::full({3}, world.rank() + 1, at::kDouble);
          group->sum(sum);
          EXPECT_TRUE(sum.equal(at::full({3}, 6, at::kDouble)));
        }
      }
    });
  }
}

TEST(Communicator, OneRankSendsToAnother) {
  on_ranks(3, [](World& world) {
    const at::Tensor sent = at::arange(12, at::kShort).view({3, 4}) + world.rank();
    if (world.rank() != 1) return world.control.send(sent, 1);
    for (const int from : {2, 0}) {
      at::Tensor received = at::empty({3, 4}, at::kShort);
      world.control.receive(received, from);
      EXPECT_TRUE(received.equal(at::arange(12, at::kShort).view({3, 4}) + from));
    }
  });
}

TEST(Communicator, AloneNothingHappens) {
  Communicator alone;
  at::Tensor value = at::ones({2});
  alone.sum(value);
  alone.broadcast(value);
  EXPECT_TRUE(value.equal(at::ones({2})));
  EXPECT_EQ(alone.gather_text("x"), std::vector<std::string>{"x"});
}

TEST(Communicator, APeerThatLeavesIsAnErrorNotAHang) {
  EXPECT_THROW(on_ranks(2,
                        [](World& world) {
                          if (world.rank() == 1) fail("rank 1 has had enough");
                          at::Tensor value = at::ones({2});
                          world.control.sum(value);
                        }),
               Error);
}

// Orthogonal gradients are added, equal ones averaged, layer by layer.
TEST(Adasum, IsBetweenSumAndMean) {
  on_ranks(4, [](World& world) {
    at::Tensor gradients = at::zeros({8}, at::kDouble);
    gradients[world.rank()] = 1.0 + world.rank();    // first layer: orthogonal
    gradients.narrow(0, 4, 4).copy_(at::arange(4));  // second: equal
    adasum(world.control, gradients, {{0, 4}, {4, 4}});
    EXPECT_TRUE(at::allclose(gradients.narrow(0, 0, 4), at::arange(1, 5, at::kDouble)));
    EXPECT_TRUE(at::allclose(gradients.narrow(0, 4, 4), at::arange(4, at::kDouble)));
  });
}

}  // namespace
}  // namespace tessera
