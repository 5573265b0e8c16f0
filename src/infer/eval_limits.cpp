#include "infer/eval_limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/log.h"
#include "infer/windows/window_grid.h"

namespace tessera {
namespace {

constexpr int64_t kLeastWindow = 64;  // smaller ones see too little to predict anything

// Returns half the length, as a multiple of the steps by which most networks shrink an image.
int half(int64_t length) {
  constexpr int64_t kMultiple = 32;
  return static_cast<int>(std::max(kLeastWindow, (length / 2 + kMultiple - 1) / kMultiple * kMultiple));
}

}  // namespace

EvalConfig EvalLimits::passes_within(EvalConfig eval) const {
  eval.batch_size = std::min(eval.batch_size, images_);
  eval.window.batch = std::min(eval.window.batch, window_batch_);
  return eval;
}

EvalConfig EvalLimits::within(EvalConfig eval, int64_t height, int64_t width) const {
  eval = passes_within(std::move(eval));
  if (window_.height > 0 && height * width >= height_ * width_) {
    eval.window.size = window_;
    eval.window.stride = {0, 0};
    eval.window.batch = 1;
  }
  return eval;
}

bool EvalLimits::shrink_passes(const EvalConfig& eval, int64_t count, int64_t height, int64_t width, const std::string& why) {
  const bool windowed = takes_windows(eval.window, height, width);
  const bool views = eval.flip || eval.scales.size() > 1;
  const auto size = fmt::format("{} x {}", height, width);
  if (count > 1) {
    images_ = (count + 1) / 2;
    log_warn("{} with {} images of {} at a time: nothing is lost, going on with {} (eval.batch_size)", why, count, size,
             images_);
    return true;
  }
  if (!windowed && views && eval.batch_size > 1) {
    images_ = 1;
    log_warn("{} with several views of an image of {} at a time: nothing is lost, going on one by one (eval.batch_size=1)", why,
             size);
    return true;
  }
  if (windowed && eval.window.batch > 1) {
    window_batch_ = eval.window.batch / 2;
    log_warn("{} with {} windows of an image of {} at a time: nothing is lost, going on with {} (eval.window.batch)", why,
             eval.window.batch, size, window_batch_);
    return true;
  }
  return false;
}

bool EvalLimits::shrink(const EvalConfig& eval, int64_t count, int64_t height, int64_t width, const std::string& why) {
  if (shrink_passes(eval, count, height, width, why)) return true;
  const bool windowed = takes_windows(eval.window, height, width);
  const int64_t now_height = windowed ? std::min<int64_t>(eval.window.size.height, height) : height;
  const int64_t now_width = windowed ? std::min<int64_t>(eval.window.size.width, width) : width;
  const Size smaller{half(now_height), half(now_width)};
  if (smaller.height >= now_height && smaller.width >= now_width) return false;
  const bool cut_before = window_.height > 0 && height_ * width_ <= height * width;
  if (!cut_before) {
    height_ = height;
    width_ = width;
  }
  window_ = smaller;
  log_warn(
      "{} with {} of {}: it is predicted in windows of {} x {}, whose classes differ a little from those of the whole; set "
      "eval.window.size to choose them",
      why, windowed ? fmt::format("windows of {} x {} of an image", now_height, now_width) : std::string("an image"),
      fmt::format("{} x {}", height, width), window_.height, window_.width);
  return true;
}

std::string EvalLimits::windows() const {
  if (window_.height == 0) return "";
  return fmt::format("images of {} x {} pixels or more in windows of {} x {}", height_, width_, window_.height, window_.width);
}

}  // namespace tessera
