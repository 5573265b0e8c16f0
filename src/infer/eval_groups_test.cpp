#include "infer/eval_groups.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <mutex>
#include <new>
#include <numeric>
#include <set>
#include <thread>

#include "support/samples.h"
#include "support/tiny_experiment.h"

namespace tessera {
namespace {

using testing::numbered_sample;
using testing::tiny_experiment;

// Samples of given sizes. Some are bad, and some find no memory the first time they are asked for.
class ListedSamples : public Dataset {
 public:
  explicit ListedSamples(std::vector<Size> all) : sizes(std::move(all)) {}
  int64_t size() const override { return std::ssize(sizes); }
  Sample get(int64_t index) const override {
    const std::lock_guard lock(mutex);
    if (bad.contains(index)) throw BadSample(id(index), "is torn");
    if (starved.erase(index) > 0) throw std::bad_alloc();
    if (on_get) on_get(index);
    Sample sample = numbered_sample(sizes[static_cast<size_t>(index)], 3, floats.contains(index));
    sample.id = id(index);
    return sample;
  }
  std::string id(int64_t index) const override { return "sample " + std::to_string(index); }
  const ClassTable& classes() const override { return table; }

  std::vector<Size> sizes;
  std::set<int64_t> bad, floats;
  mutable std::set<int64_t> starved;
  std::function<void(int64_t)> on_get;
  mutable std::mutex mutex;
  ClassTable table{{"a", "b", "c"}, {}};
};

class EvalGroupsTest : public ::testing::Test {
 protected:
  EvalGroups groups(EvalGroupOptions options) {
    std::vector<int64_t> indices(data->sizes.size());
    std::iota(indices.begin(), indices.end(), 0);
    samples.emplace_back(experiment, data, Split::kVal);
    return EvalGroups(samples.back(), indices, quarantine, std::move(options));
  }

  // The indices of each group that comes.
  static std::vector<std::vector<int64_t>> indices_of(EvalGroups& groups) {
    std::vector<std::vector<int64_t>> all;
    while (const auto group = groups.next()) {
      all.emplace_back();
      for (const EvalTruth& truth : group->truths) all.back().push_back(truth.index);
      EXPECT_EQ(group->images.size(), std::ssize(group->truths));
      EXPECT_EQ(group->images.placements.size(), group->truths.size());
    }
    return all;
  }

  std::shared_ptr<ListedSamples> data = std::make_shared<ListedSamples>(std::vector<Size>(7, Size{4, 6}));
  Experiment experiment = tiny_experiment();
  Quarantine quarantine{7, 1.0};
  std::deque<EvalSamples> samples;  // each of the groups that use it
};

using Groups = std::vector<std::vector<int64_t>>;

TEST_F(EvalGroupsTest, ImagesOfOneBlockSizeAndDepthShareAPass) {
  for (const int threads : {1, 3}) {
    EvalGroups plain = groups({.block = 4, .threads = threads});
    EXPECT_EQ(indices_of(plain), (Groups{{0, 1, 2, 3}, {4, 5, 6}}));
  }
  data->sizes[2] = {6, 4};
  data->floats = {5};
  EvalGroups mixed = groups({.block = 4});
  EXPECT_EQ(indices_of(mixed), (Groups{{0, 1}, {2}, {3}, {4}, {5}, {6}}));
}

TEST_F(EvalGroupsTest, HoldPixelsPlacementsAndLabels) {
  EvalGroups all = groups({.block = 2});
  const auto group = all.next();
  ASSERT_TRUE(group);
  EXPECT_EQ(group->images.pixels.sizes(), (std::vector<int64_t>{2, 4, 6, 3}));
  EXPECT_EQ(group->images.pixels[1][3][5][2].item<int>(), 3 * 16 + 5 * 3 + 2);
  ASSERT_TRUE(group->images.placements[1]);
  EXPECT_EQ(group->images.placements[1]->original, (Size{4, 6}));
  EXPECT_EQ(group->truths[1].id, "sample 1");
  EXPECT_EQ(group->truths[1].labels.at(3, 5), (3 + 5) % 3);
  experiment = tiny_experiment({"eval.at=processed"});
  EXPECT_FALSE(groups({.block = 2}).next()->images.placements[0]);
}

TEST_F(EvalGroupsTest, BadSamplesAreQuarantinedAndLeftOut) {
  data->bad = {1, 4};
  std::vector<int64_t> done;
  EvalGroups all = groups({.block = 4, .on_sample = [&](int64_t count) { done.push_back(count); }});
  EXPECT_EQ(indices_of(all), (Groups{{0, 2, 3}, {5, 6}}));
  EXPECT_EQ(all.num_bad(), 2);
  EXPECT_TRUE(quarantine.contains(1) && quarantine.contains(4));
  EXPECT_EQ(done, (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7}));
}

// What lies in memory beside it is handed out and let go of first.
TEST_F(EvalGroupsTest, ASampleThatFindsNoMemoryIsLoadedAgainAfterTheGroupBeforeIt) {
  data->starved = {2};
  int64_t handed_out = 0;
  EvalGroups all = groups({.block = 4, .before_reload = [&] { EXPECT_EQ(handed_out, 1); }});
  Groups found;
  while (const auto group = all.next()) {
    ++handed_out;
    found.emplace_back();
    for (const EvalTruth& truth : group->truths) found.back().push_back(truth.index);
  }
  EXPECT_EQ(found, (Groups{{0, 1}, {2, 3}, {4, 5, 6}}));
  EXPECT_EQ(all.num_bad(), 0);
}

TEST_F(EvalGroupsTest, NoMoreAreHeldThanThereIsMemoryFor) {
  constexpr int64_t kSample = 4 * 6 * (3 + 2);
  constexpr int64_t kHeld = 2 + 2 + 1 + 2;  // handed out, gathered, the first that does not go with those, waiting
  data->sizes.assign(40, Size{4, 6});
  data->sizes[20] = {40, 60};  // more than all that there may be
  std::atomic<int64_t> handed_out = 0;
  data->on_get = [&](int64_t index) { EXPECT_LE(index, handed_out + kHeld); };
  EvalGroups all = groups({.block = 8, .threads = 4, .max_bytes = 2 * kSample + kSample / 2});
  std::vector<int64_t> sizes, expected(10, 2);
  while (const auto group = all.next()) {
    sizes.push_back(group->images.size());
    handed_out += group->images.size();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  expected.insert(expected.end(), {1, 2, 1});  // the large one, and what is left of its block
  expected.resize(21, 2);
  EXPECT_EQ(sizes, expected);
}

// The limit comes into force when the last sample is loaded: there is room for two images beside those, not for four. The
// system may take some of it for a new thread, and then there is room for one.
TEST_F(EvalGroupsTest, AGroupThatFindsNoMemoryComesInHalves) {
  constexpr Size kLarge{4000, 4000};
  constexpr uint64_t kImage = uint64_t{4000} * 4000 * 3, kLabels = uint64_t{4000} * 4000 * 2;
  data->sizes.assign(4, kLarge);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  data->on_get = [&](int64_t index) {
    if (index != 3) return;
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit = before;
    limit.rlim_cur = pages * 4096 + kImage + kLabels + 3 * kImage;
    setrlimit(RLIMIT_AS, &limit);
  };
  EvalGroups all = groups({.block = 4});
  const Groups found = indices_of(all);
  setrlimit(RLIMIT_AS, &before);
  std::vector<int64_t> all_of_them;
  for (const auto& group : found) {
    EXPECT_LE(group.size(), 2U);
    all_of_them.insert(all_of_them.end(), group.begin(), group.end());
  }
  EXPECT_EQ(all_of_them, (std::vector<int64_t>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace tessera
