#include "train/hooks/hooks.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tessera {
namespace {

class FullDisk : public Hook {
 public:
  void on_warning(int64_t, const std::string&) override { fail("no space left"); }
};

class Listener : public Hook {
 public:
  explicit Listener(std::string wish = "") : wish_(std::move(wish)) {}
  void on_warning(int64_t step, const std::string& text) override { heard += fmt::format("{} at {}; ", text, step); }
  void on_end(const TrainState& state, const std::string& status) override {
    heard += fmt::format("{} at {}", status, state.step);
  }
  std::string wants_stop() const override { return wish_; }
  std::string heard;

 private:
  std::string wish_;
};

TEST(Hooks, AFailureIsToldToAllOfThemThoughOneFailsToo) {
  Hooks hooks;
  hooks.add(std::make_unique<FullDisk>());
  const Listener& listener = hooks.add(std::make_unique<Listener>());
  TrainState state;
  state.step = 7;
  hooks.tell_failure(state, "the loss is nan");
  EXPECT_EQ(listener.heard, "the loss is nan at 7; failed at 7");
  EXPECT_THROW(hooks.on_warning(1, "anything"), Error);  // in a run that goes on it is an error of the run
}

TEST(Hooks, TheFirstThatWantsToStopSaysWhy) {
  Hooks hooks;
  EXPECT_EQ(hooks.wants_stop(), "");
  hooks.add(std::make_unique<Listener>());
  EXPECT_EQ(hooks.wants_stop(), "");
  hooks.add(std::make_unique<Listener>("the pruner"));
  hooks.add(std::make_unique<Listener>("somebody else"));
  EXPECT_EQ(hooks.wants_stop(), "the pruner");
}

}  // namespace
}  // namespace tessera
