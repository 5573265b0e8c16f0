#include "dist/gradient_reducer.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <set>

#include "dist/thread_ranks.h"
#include "dist/tune_exchange.h"

namespace tessera {
namespace {

void on_ranks(int size, const std::function<void(World&)>& body) {
  run_on_threads(size, false, std::chrono::seconds(120), body);
}

// Three parameters whose gradients lie in one arena.
struct Parameters {
  explicit Parameters(std::vector<int64_t> sizes) {
    int64_t total = 0;
    for (const int64_t size : sizes) total += size;
    grads = at::zeros({total}, at::kDouble);
    int64_t offset = 0;
    for (const int64_t size : sizes) {
      at::Tensor value = at::ones({size}, at::kDouble).requires_grad_();
      value.mutable_grad() = grads.narrow(0, offset, size);
      places.push_back({value, offset, size});
      offset += size;
    }
  }
  // Gradient of value i is (rank + 1) * (i + 1).
  void backward(int rank, size_t count) {
    at::Tensor loss = at::zeros({}, at::kDouble);
    for (size_t i = 0; i < count; ++i) loss = loss + places[i].parameter.sum() * ((rank + 1.0) * (static_cast<double>(i) + 1));
    loss.backward();
  }
  at::Tensor expected(double sum_of_ranks, size_t count) const {
    at::Tensor all = at::zeros_like(grads);
    for (size_t i = 0; i < count; ++i)
      all.narrow(0, places[i].offset, places[i].numel).fill_(sum_of_ranks * (static_cast<double>(i) + 1));
    return all;
  }
  at::Tensor grads;
  std::vector<GradientPlace> places;
};

DistConfig small_buckets() {
  DistConfig config;
  config.bucket_mb = 1e-5;  // 10 bytes: a bucket per parameter
  return config;
}

TEST(GradientReducer, SumsOverRanksAndPasses) {
  on_ranks(3, [](World& world) {
    Parameters parameters({3, 5, 2});
    GradientReducer reducer(world.gradients, parameters.places, parameters.grads, small_buckets());
    EXPECT_EQ(reducer.num_buckets(), 3U);
    for (int step = 0; step < 3; ++step) {
      parameters.grads.zero_();
      parameters.backward(world.rank(), 3);
      reducer.arm();
      parameters.backward(world.rank(), 3);
      reducer.finish();
      EXPECT_TRUE(parameters.grads.equal(parameters.expected(12, 3)));
    }
  });
}

// A parameter that a pass does not use has no hook call; its bucket goes out at the end.
TEST(GradientReducer, UnusedParametersAreSummedToo) {
  on_ranks(2, [](World& world) {
    Parameters parameters({3, 5, 2});
    GradientReducer reducer(world.gradients, parameters.places, parameters.grads, small_buckets());
    reducer.arm();
    parameters.backward(world.rank(), world.rank() == 0 ? 2 : 3);
    reducer.finish();
    at::Tensor expected = parameters.expected(3, 3);
    expected.narrow(0, 8, 2).fill_(2.0 * 3);
    EXPECT_TRUE(parameters.grads.equal(expected));
  });
}

TEST(GradientReducer, ARankThatComputesAgainChangesNothing) {
  on_ranks(2, [](World& world) {
    Parameters parameters({3, 5, 2});
    GradientReducer reducer(world.gradients, parameters.places, parameters.grads, small_buckets());
    reducer.arm();
    parameters.backward(world.rank(), 3);
    if (world.rank() == 1) {  // as after an out-of-memory error
      reducer.interrupt();
      parameters.grads.zero_();
      reducer.arm();
      parameters.backward(1, 3);
    }
    reducer.finish();
    EXPECT_TRUE(parameters.grads.equal(parameters.expected(3, 3)));
  });
}

TEST(GradientReducer, CompressionAndPredivideOnlyRound) {
  for (const Compression compression : {Compression::kBf16, Compression::kFp16}) {
    on_ranks(2, [&](World& world) {
      Parameters parameters({4, 4});
      DistConfig config;
      config.compression = compression;
      config.predivide = 4;
      GradientReducer reducer(world.gradients, parameters.places, parameters.grads, config);
      reducer.arm();
      parameters.backward(world.rank(), 2);
      reducer.finish();
      EXPECT_TRUE(at::allclose(parameters.grads, parameters.expected(3, 2), 1e-2));
      EXPECT_EQ(reducer.times()[0].bytes, 16);
    });
  }
}

TEST(GradientReducer, SumIsTheMeanTimesTheRanks) {
  on_ranks(2, [](World& world) {
    Parameters parameters({4});
    DistConfig config;
    config.reduction = Reduction::kSum;
    GradientReducer reducer(world.gradients, parameters.places, parameters.grads, config);
    reducer.arm();
    parameters.backward(world.rank(), 1);
    reducer.finish();
    EXPECT_TRUE(parameters.grads.equal(parameters.expected(6, 1)));
  });
}

// What tuning tries, by name, and what it chooses.
std::pair<std::set<Compression>, Compression> tuned(Compression asked, bool may_round) {
  std::set<Compression> tried;
  Compression chosen = Compression::kNone;
  on_ranks(2, [&](World& world) {
    Parameters parameters({3, 5, 2});
    DistConfig config = small_buckets();
    config.compression = asked;
    GradientReducer reducer(world.gradients, parameters.places, parameters.grads, config);
    const DistConfig best = tune_exchange(reducer, world.control, config, may_round, [&](const DistConfig& one, double) {
      if (world.is_first()) tried.insert(one.compression);
    });
    if (world.is_first()) chosen = best.compression;
  });
  return {tried, chosen};
}

TEST(TuneExchange, ReplacesNoCompressionThatWasAskedForOrMustStay) {
  using enum Compression;
  EXPECT_EQ(tuned(kNone, true).first, (std::set{kNone, kBf16}));
  EXPECT_EQ(tuned(kNone, false), std::pair(std::set{kNone}, kNone));
  EXPECT_EQ(tuned(kFp16, true), std::pair(std::set{kFp16}, kFp16));
}

}  // namespace
}  // namespace tessera
