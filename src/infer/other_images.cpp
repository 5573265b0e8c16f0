#include "infer/other_images.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/printable.h"

namespace tessera {
namespace {

std::string channel_text(int64_t channels) {
  return channels == 1 ? "grey" : channels == 3 ? "in colour" : fmt::format("of {} channels", channels);
}

// The values of all channels together; false where there are none.
bool value_range(const ImageFacts& facts, double& low, double& high) {
  if (facts.low.empty() || facts.high.empty()) return false;
  low = *std::min_element(facts.low.begin(), facts.low.end());
  high = *std::max_element(facts.high.begin(), facts.high.end());
  return true;
}

}  // namespace

std::string unlike_training(const ImageFacts& trained, const ImageFacts& now) {
  constexpr double kFar = 4, kDark = 0.02;  // of the range of the training images
  if (!trained.known() || !now.known() || trained.depth == "mixed") return "";
  if (now.depth != trained.depth)
    return fmt::format(
        "{}, the model was trained on {} ones: its values are read as those and mean something else. Convert it to "
        "the depth and range of the training images",
        now.depth == "mixed" ? "of several depths" : now.depth, trained.depth);
  // Grey pictures among colour ones are usual.
  if (trained.channels != 0 && now.channels != 0 && now.channels != trained.channels && trained.channels != 3)
    return fmt::format("{}, the model was trained on images {}", channel_text(now.channels), channel_text(trained.channels));
  if (trained.channels == 3 && now.channels == 1 && !trained.some_grey)
    return "grey, the model was trained on images in colour: it may need the colours";
  double low = 0, high = 0, own_low = 0, own_high = 0;
  if (now.depth == "8-bit" || !value_range(trained, low, high) || !value_range(now, own_low, own_high) || !(high > low))
    return "";
  const double span = high - low;
  const bool far = own_high > low + kFar * span || own_low < low - kFar * span, dark = own_high < low + kDark * span;
  if (!far && !dark) return "";
  return fmt::format(
      "{}: its values are {:g} to {:g}, those of the training images {:g} to {:g}. Was it scaled in another way?",
      far ? "far outside what the model has seen" : "nearly black to the model", own_low, own_high, low, high);
}

std::string ImageWatch::look(const std::string& name, const ImageFacts& image) {
  const std::string how = unlike_training(trained_, image);
  const std::string kind = how.substr(0, how.find_first_of(",:"));
  if (how.empty() || !said_.insert(kind).second) return "";
  return fmt::format("{} is {}", printable(name), how);
}

}  // namespace tessera
