#include "config/recipe.h"

#include <gtest/gtest.h>

#include "config/experiment.h"
#include "core/error.h"
#include "core/files.h"
#include "support/fixtures.h"
#include "support/messages.h"

namespace tessera {
namespace {

using testing::message_of;
using testing::TempFolder;

std::string origin_of(const Node& config, const char* key) {
  const Node* found = find_path(config, key);
  return found != nullptr ? found->origin.text() : "default";
}

TEST(Recipe, LiesOverTheConfigWhenTheCommandLineNamesItAndUnderTheOtherWords) {
  const Node laid = compose("demo", {"train.mixup.alpha=0", "recipe=mild", "schedule.type=poly"});
  const Experiment e = read_experiment(laid);
  EXPECT_EQ(e.train.duration.text(), "25ep");
  EXPECT_EQ(e.schedule.type, ScheduleType::kPoly);
  EXPECT_EQ(e.train.batch_size, 8);
  EXPECT_EQ(e.optimizer.lr, 0.004);
  EXPECT_TRUE(origin_of(laid, "train.duration").starts_with("builtin:recipes/mild:"));
  EXPECT_EQ(origin_of(laid, "schedule.type"), "command line");
  EXPECT_TRUE(origin_of(laid, "optimizer.lr").starts_with("builtin:demo:"));
  EXPECT_TRUE(e.recipe.empty());
}

TEST(Recipe, LiesUnderTheConfigThatNamesItAndOverItsBases) {
  const TempFolder folder;
  write_file(folder / "base.yaml", std::string_view("train: {duration: 7ep}\nschedule: {type: poly}\noptimizer: {lr: 0.5}\n"));
  write_file(folder / "own.yaml", std::string_view("base: base.yaml\nrecipe: mild\nschedule: {type: step}\n"));
  write_file(folder / "above.yaml", std::string_view("base: own.yaml\ntrain: {duration: 9ep}\n"));
  const Experiment own = load_experiment(folder / "own.yaml");
  EXPECT_EQ(own.train.duration.text(), "25ep");
  EXPECT_EQ(own.schedule.type, ScheduleType::kStep);
  EXPECT_EQ(own.optimizer.lr, 0.5);
  const Experiment above = load_experiment(folder / "above.yaml");
  EXPECT_EQ(above.train.duration.text(), "9ep");
  EXPECT_TRUE(above.train.ema.enabled());
  const Experiment none = load_experiment(folder / "above.yaml", {"recipe=none"});
  EXPECT_FALSE(none.train.ema.enabled());
  EXPECT_EQ(load_experiment(folder / "own.yaml", {"recipe=none"}).train.duration.text(), "7ep");
}

TEST(Recipe, TheLastOneNamedIsTheOnlyOne) {
  const TempFolder folder;
  write_file(folder / "mine.yaml", std::string_view("train: {seed: 5}\n"));
  write_file(folder / "own.yaml", std::string_view("recipe: mild\n"));
  const Experiment e = load_experiment(folder / "own.yaml", {"recipe=" + (folder / "mine.yaml").string()});
  EXPECT_EQ(e.train.seed, 5U);
  EXPECT_FALSE(e.train.ema.enabled());
}

TEST(Recipe, OfAFileIsFoundBesideTheConfigThatNamesIt) {
  const TempFolder folder;
  fs::create_directory(folder / "parts");
  write_file(folder / "parts/mine.yaml", std::string_view("base: recipes/mild\ntrain: {duration: 3ep}\n"));
  write_file(folder / "own.yaml", std::string_view("recipe: parts/mine.yaml\n"));
  const Experiment e = load_experiment(folder / "own.yaml");
  EXPECT_EQ(e.train.duration.text(), "3ep");
  EXPECT_EQ(e.schedule.type, ScheduleType::kConstant);
}

// sgd's weight decay means something else decoupled; an Adam's learning rate would be far too small for it.
TEST(Recipe, ConditionsLookAtTheExperimentWithoutIt) {
  const Experiment sgd = load_experiment("", {"recipe=mild", "optimizer.type=sgd"});
  EXPECT_EQ(sgd.optimizer.type, OptimizerType::kSgd);  // the words have the last say
  const Experiment unsaid = load_experiment("", {"recipe=mild"});
  EXPECT_EQ(unsaid.optimizer.type, OptimizerType::kDecoupledSgd);
  EXPECT_EQ(unsaid.optimizer.weight_decay, 5e-5);
  const Experiment adamw = load_experiment("", {"optimizer={type: adamw, weight_decay: 0.01}", "recipe=mild"});
  EXPECT_EQ(adamw.optimizer.type, OptimizerType::kAdamW);
  EXPECT_EQ(adamw.optimizer.weight_decay, 0.01);
  const Experiment overlapping = load_experiment("", {"data.labels.multi=yes", "recipe=mild"});
  EXPECT_EQ(name_of(overlapping.loss.terms.at(0)), "bce");
}

TEST(Recipe, EachLiesOverEveryConfig) {
  ::setenv("TESSERA_DATA", "/data", 0);
  for (const EmbeddedFile* recipe : builtin_recipes()) {
    for (const EmbeddedFile* training : builtin_trainings()) {
      const std::string name = kBuiltinPrefix + std::string(training->name), word = "recipe=" + recipe_name(*recipe);
      SCOPED_TRACE(name + " " + word);
      const Experiment before = load_experiment(name, {"recipe=none"}), after = load_experiment(name, {word});
      EXPECT_EQ(after.train.batch_size, before.train.batch_size);
      EXPECT_EQ(after.optimizer.lr, before.optimizer.lr);
      EXPECT_EQ(after.model.name, before.model.name);
      EXPECT_EQ(after.data.path, before.data.path);
    }
    EXPECT_GT(summary_of(*recipe).size(), 10U);
  }
}

// What a run keeps is values: laid over nothing again they are the same, and no recipe is looked for.
TEST(Recipe, ResolvedConfigNeedsItNoMore) {
  const TempFolder folder;
  write_file(folder / "mine.yaml", std::string_view("train: {duration: 4ep}\n"));
  const std::string text = experiment_yaml(load_experiment("demo", {"recipe=" + (folder / "mine.yaml").string()}));
  fs::remove(folder / "mine.yaml");
  EXPECT_EQ(experiment_yaml(read_experiment(parse_config(text, "config.yaml"))), text);
  write_file(folder / "config.yaml", text);
  EXPECT_EQ(load_experiment(folder / "config.yaml").train.duration.text(), "4ep");
}

TEST(Recipe, EveryValueOfTheOnesCarriedSaysWhy) {
  const auto check = [](const auto& self, const Node& node, const std::string& key) -> void {
    for (const auto& [name, value] : node.map) self(self, value, key + "." + name);
    if (node.kind != Node::Kind::kMap) {
      EXPECT_GT(comment_at(node.origin).size(), 5U) << key << " " << node.origin.text();
    }
  };
  for (const EmbeddedFile* recipe : builtin_recipes()) check(check, recipe_values(recipe_name(*recipe), Node()), "");
}

TEST(Recipe, CommentIsThatOfTheLineOrOfThoseAbove) {
  const TempFolder folder;
  const std::string file = (folder / "c.yaml").string();
  write_file(file, std::string_view("# head\n\na: 1  # of one\n# of two,\n  # and more\nb: 2\nc: \"x#y\"\n"));
  EXPECT_EQ(comment_at({file, 3}), "of one");
  EXPECT_EQ(comment_at({file, 6}), "of two, and more");
  EXPECT_EQ(comment_at({file, 7}), "");
  EXPECT_EQ(comment_at({"command line", 0}), "");
}

TEST(Recipe, MistakesAreSaid) {
  const TempFolder folder;
  const auto with = [&](const std::string& text) {
    write_file(folder / "r.yaml", std::string_view(text));
    return message_of<UsageError>([&] { load_experiment("", {"recipe=" + (folder / "r.yaml").string()}); });
  };
  EXPECT_CONTAINS(message_of<UsageError>([] { load_experiment("", {"recipe=midl"}); }), "did you mean 'mild'?");
  EXPECT_CONTAINS(message_of<UsageError>([] { load_experiment("", {"recipe=./nowhere.yaml"}); }), "No such file");
  EXPECT_CONTAINS(with("recipe: mild\n"), "r.yaml:1: a recipe names no other");
  EXPECT_CONTAINS(with("train: {durtion: 3ep}\n"), "r.yaml:1: unknown key 'train.durtion', did you mean 'duration'?");
  EXPECT_CONTAINS(with("where: {if: 1}\n"), "where expects a list");
  EXPECT_CONTAINS(with("where: [{if: {optimizer.typ: sgd}, set: {train: {seed: 1}}}]\n"), "did you mean 'optimizer.type'?");
  EXPECT_CONTAINS(with("where: [{set: {train: {seed: 1}}}]\n"), "an entry of where expects");
  EXPECT_CONTAINS(message_of<UsageError>([] { read_experiment(parse_config("recipe: mild", "x")); }), "recipe 'mild'");
}

}  // namespace
}  // namespace tessera
