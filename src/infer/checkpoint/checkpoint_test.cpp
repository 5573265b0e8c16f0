#include "infer/checkpoint/checkpoint.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>

#include "core/error.h"
#include "core/files.h"
#include "infer/checkpoint/checkpoint_store.h"
#include "support/fixtures.h"

namespace tessera {
namespace {

using testing::TempFolder;

Checkpoint example(int64_t step, int64_t best_step = -1) {
  Checkpoint c;
  c.model = {{"w", torch::arange(6, torch::kFloat).view({2, 3})}};
  c.optimizer = {{"momentum", torch::ones({8})}};
  c.average = {{"w", torch::full({2, 3}, 0.5)}};
  c.state.step = step;
  c.state.best_step = best_step;
  c.state.best_value = 0.5;
  c.classes = {{"a", "b"}, {{0, 0, 0}, {1, 2, 3}}};
  c.config_yaml = "train:\n  seed: 1\n";
  c.images = {"16-bit", 2, {100, 0.5}, {4000, 1.5}};
  return c;
}

TEST(Checkpoint, RoundTrip) {
  const TempFolder folder;
  write_checkpoint(folder / "step-00000007", example(7));
  const Checkpoint back = read_checkpoint(folder / "step-00000007");
  EXPECT_TRUE(back.model[0].second.equal(example(7).model[0].second));
  EXPECT_TRUE(back.optimizer[0].second.equal(torch::ones({8})));
  EXPECT_TRUE(back.average[0].second.equal(torch::full({2, 3}, 0.5)));
  EXPECT_EQ(back.state.step, 7);
  EXPECT_EQ(back.classes.palette[1], (Color{1, 2, 3}));
  EXPECT_EQ(back.config_yaml, "train:\n  seed: 1\n");
  EXPECT_EQ(back.images.depth, "16-bit");
  EXPECT_EQ(back.images.channels, 2);
  EXPECT_EQ(back.images.low, (std::vector<double>{100, 0.5}));
  EXPECT_EQ(back.images.high, (std::vector<double>{4000, 1.5}));
  EXPECT_TRUE(read_checkpoint(folder / "step-00000007", false).optimizer.empty());
  Checkpoint plain = example(8);
  plain.average.clear();
  plain.images = {};
  write_checkpoint(folder / "step-00000008", plain);
  EXPECT_TRUE(read_checkpoint(folder / "step-00000008").average.empty());
  EXPECT_FALSE(read_checkpoint(folder / "step-00000008").images.known());
}

TEST(TrainState, TheBestIsTheFirstOfTheLargestValues) {
  TrainState state;
  const auto note = [&](int64_t step, double value) {
    state.step = step;
    state.note_metric(value);
  };
  note(1, NAN);  // nothing could be measured
  EXPECT_FALSE(state.best_value);
  EXPECT_EQ(state.evals_since_best, 1);
  EXPECT_EQ(state.evaluated_step, 1);
  note(2, 0.0);
  EXPECT_EQ(state.best_step, 2);
  EXPECT_EQ(state.evals_since_best, 0);
  note(3, 0.5);
  note(4, 0.5);
  note(5, NAN);
  EXPECT_EQ(state.best_step, 3);
  EXPECT_EQ(state.best_value, 0.5);
  EXPECT_EQ(state.evals_since_best, 2);
  EXPECT_EQ(state.evaluated_step, 5);
}

TEST(TrainState, OneWithoutABestValueIsReadAsSuch) {
  const nlohmann::json written = to_json(TrainState{});
  EXPECT_EQ(written.at("best_value"), -1);
  EXPECT_FALSE(state_from_json(written).best_value);
  TrainState best;
  best.step = 3;
  best.note_metric(0.25);
  EXPECT_EQ(state_from_json(to_json(best)).best_value, 0.25);
}

TEST(Checkpoint, IsWrittenToAFolderOfItsOwnForWhomItSays) {
  const TempFolder folder, elsewhere;
  const fs::path checkpoints = folder / "run/checkpoints";
  fs::create_directories(checkpoints);
  fs::create_directory_symlink(elsewhere.path(), checkpoints / ".writing-step-00000007");  // the name that drafts once had
  write_checkpoint(checkpoints / "step-00000007", example(7), Access::kPrivate);
  EXPECT_TRUE(fs::is_empty(elsewhere.path()));
  EXPECT_EQ(fs::status(checkpoints / "step-00000007").permissions(), fs::perms(0700));
  for (const char* name : {"config.yaml", "state.json", "model.safetensors", "DONE"})
    EXPECT_EQ(fs::status(checkpoints / "step-00000007" / name).permissions(), fs::perms(0600)) << name;
  make_folders(checkpoints / ".writing-step-00000008-0123");
  remove_checkpoint_drafts(checkpoints);
  EXPECT_FALSE(fs::exists(checkpoints / ".writing-step-00000008-0123"));
  EXPECT_TRUE(is_complete_checkpoint(checkpoints / "step-00000007"));
}

TEST(Checkpoint, EveryFlippedByteIsFound) {
  const TempFolder folder;
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "ema.safetensors", "state.json", "config.yaml"}) {
    write_checkpoint(folder / "c", example(7));
    auto bytes = read_bytes(folder / "c" / name);
    bytes[bytes.size() / 2] ^= 1;
    write_file(folder / "c" / name, bytes);
    EXPECT_THROW(read_checkpoint(folder / "c"), Error) << name;
    fs::remove(folder / "c" / name);
    EXPECT_THROW(read_checkpoint(folder / "c"), Error) << name;
  }
  fs::remove(folder / "c" / "DONE");
  EXPECT_FALSE(is_complete_checkpoint(folder / "c"));
}

TEST(CheckpointStore, KeepsTheLastAndTheBestAndPassesOverDamage) {
  const TempFolder folder;
  CheckpointStore store(folder.path(), {.keep_last = 2});
  store.check_room(1000);
  for (const int64_t step : {1, 2, 3, 4, 5}) store.save(example(step, step >= 2 ? 2 : -1));
  store.wait();
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder.path())) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"best.json", "step-00000002", "step-00000004", "step-00000005"}));
  EXPECT_EQ(resolve_checkpoint(folder.path()).filename(), "step-00000002");

  write_file(folder / "step-00000005/model.safetensors", std::string_view("damaged"));
  EXPECT_EQ(store.load_latest()->state.step, 4);
}

TEST(CheckpointStore, WhatBestNamesStaysUntilAnotherBestIsSaved) {
  const TempFolder folder;
  CheckpointStore store(folder.path(), {.keep_last = 1});
  store.save(example(3, 3));
  store.save(example(6, 5));  // step 5 was the best, and its save failed
  store.save(example(7, 5));
  store.wait();
  EXPECT_EQ(resolve_checkpoint(folder.path()).filename(), "step-00000003");
  store.save(example(8, 8));
  store.wait();
  EXPECT_EQ(resolve_checkpoint(folder.path()).filename(), "step-00000008");
  EXPECT_FALSE(fs::exists(folder / "step-00000003"));
}

// A step is saved first and evaluated then, maybe by another session.
TEST(CheckpointStore, AStepThatIsSavedAlreadyBecomesTheBest) {
  const TempFolder folder;
  CheckpointStore store(folder.path(), {.keep_last = 1});
  store.save(example(2, 2));
  store.save(example(4, 2));
  TrainState evaluated = example(4, 4).state;
  evaluated.evaluated_step = 4;
  evaluated.best_value = 0.625;
  store.note_evaluated(evaluated);
  EXPECT_EQ(resolve_checkpoint(folder.path()).filename(), "step-00000004");
  EXPECT_FALSE(fs::exists(folder / "step-00000002"));
  EXPECT_EQ(to_json(store.load_latest()->state), to_json(evaluated));

  // What a bad disk left of it is no evaluation, and no reason not to use the checkpoint.
  auto bytes = read_bytes(folder / "step-00000004/evaluated.json");
  bytes[bytes.size() / 2] ^= 1;
  write_file(folder / "step-00000004/evaluated.json", bytes);
  EXPECT_EQ(to_json(store.load_latest()->state), to_json(example(4, 2).state));

  fs::remove_all(folder / "step-00000004");
  EXPECT_THROW(store.note_evaluated(evaluated), Error);
}

TEST(CheckpointStore, ADamagedNewestOneCostsNoneThatComesAfterIt) {
  const TempFolder folder;
  CheckpointStore store(folder.path(), {.keep_last = 1});
  store.save(example(3, 3));
  store.save(example(5, 3));
  store.wait();
  write_file(folder / "step-00000005/model.safetensors", std::string_view("damaged"));
  ASSERT_EQ(store.load_latest()->state.step, 3);
  store.save(example(4, 3));
  store.wait();
  EXPECT_EQ(store.load_latest()->state.step, 4);
}

TEST(CheckpointStore, AFolderThatIsRemovedMeanwhileIsMadeAgain) {
  const TempFolder folder;
  CheckpointStore store(folder / "run/checkpoints", {});
  store.save(example(1));
  store.wait();
  fs::remove_all(folder / "run");
  store.save(example(2));
  store.wait();
  EXPECT_EQ(store.load_latest()->state.step, 2);
  fs::remove_all(folder / "run");
  write_file(folder / "run", std::string_view("a file in its place"));
  store.save(example(3));
  try {
    store.wait();
    FAIL() << "nothing was saved, and nothing said so";
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()).find("filesystem error"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("cannot make the folder"), std::string::npos) << e.what();
  }
}

TEST(Checkpoint, HowGradientsTravelBelongsToTheState) {
  TrainState state = example(3).state;
  EXPECT_FALSE(state_from_json(to_json(state)).exchange);
  state.exchange = {25, Compression::kFp16};
  const auto back = state_from_json(to_json(state)).exchange;
  ASSERT_TRUE(back);
  EXPECT_EQ(back->bucket_mb, 25);
  EXPECT_EQ(back->compression, Compression::kFp16);
}

TEST(Checkpoint, StatesOfEarlierRunsAreRead) {
  nlohmann::json old =
      nlohmann::json::parse(R"({"best_step": 40, "best_value": 0.5, "evals_since_best": 2, "evaluated_step": 60,
      "format": 1, "loss_scale": 1024.0, "loss_scale_good_steps": 7, "optimizer_steps": 59, "seconds": 12.5, "step": 60})");
  const TrainState state = state_from_json(old);
  EXPECT_EQ(state.step, 60);
  EXPECT_EQ(state.evaluated_step, 60);
  EXPECT_EQ(state.best_step, 40);
  EXPECT_EQ(state.best_value, 0.5);
  EXPECT_EQ(state.evals_since_best, 2);
  EXPECT_EQ(state.loss_scale, 1024);
  EXPECT_EQ(state.loss_scale_good_steps, 7);
  EXPECT_EQ(state.optimizer_steps, 59);
  EXPECT_EQ(state.skipped_steps, 0);
  EXPECT_EQ(state.seconds, 12.5);
  old.erase("optimizer_steps");
  EXPECT_THROW(state_from_json(old), nlohmann::json::exception);
}

TEST(CheckpointStore, SavedTensorsDoNotChangeWithTraining) {
  const TempFolder folder;
  CheckpointStore store(folder.path(), {});
  Checkpoint c = example(1);
  const at::Tensor live = c.model[0].second;
  store.save(c);
  live.fill_(99);
  store.wait();
  EXPECT_TRUE(store.load_latest()->model[0].second.equal(example(1).model[0].second));
}

TEST(CheckpointStore, NoRoomOrNoFolderIsKnownBeforeTraining) {
  const TempFolder folder;
  EXPECT_THROW(CheckpointStore(folder.path(), {}).check_room(int64_t{1} << 55), Error);
  write_file(folder / "file", std::string_view("x"));
  EXPECT_THROW(CheckpointStore(folder / "file", {}).check_room(1), Error);
  EXPECT_THROW(resolve_checkpoint(folder / "nothing"), Error);
  EXPECT_THROW(resolve_checkpoint(folder.path()), Error);
}

}  // namespace
}  // namespace tessera
