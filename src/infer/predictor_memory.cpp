#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "core/log.h"
#include "core/memory_limit.h"
#include "infer/precision.h"
#include "infer/predictor.h"
#include "infer/windows/window_grid.h"
#include "tensor/error_text.h"
#include "tensor/too_large.h"

// How a predictor keeps within memory: which images it computes together, and under which settings.
namespace tessera {

// Says why this is known not to fit into the memory of the CPU; "" where it may. Throws TooLarge where smaller passes do not
// help.
std::string Predictor::why_not_tried(const EvalConfig& eval, int64_t count, int64_t height, int64_t width,
                                     int64_t channels) const {
  constexpr double kBytesOfMostNetworks = 4096;  // for a pixel; where that fits, nothing need be measured
  constexpr double kUsable = 0.8;                // the rest is for the weights, the images and the system
  if (!device_.is_cpu()) return "";
  const double room = kUsable * static_cast<double>(memory_limit());
  const NetworkMemory most{kBytesOfMostNetworks, channels, /*classes=*/256};
  if (prediction_bytes(most, eval, count, height, width).all() < room) return "";
  if (!memory_) {
    const at::NoGradGuard no_grad;
    const KeptCasts kept;
    model_->eval();
    const at::TensorOptions options = at::TensorOptions(device_).dtype(input_type(train_.precision));
    const auto pass = [&](int64_t side) {
      return network(at::empty({1, channels, side, side}, options, at::MemoryFormat::ChannelsLast).zero_(), {});
    };
    memory_ = NetworkMemory::measure(pass, channels, model_->min_size(), options.dtype().itemsize());
    if (!memory_) return "";
  }
  const PredictionBytes bytes = prediction_bytes(*memory_, eval, count, height, width);
  const auto gb = [](double value) { return fmt::format("{:.1f} GB", value / 1e9); };
  if (bytes.beside > room) {
    throw TooLarge(fmt::format(
        "eval.scales: at scale {} an image of {} x {} and its scores need about {}, and this process may use {}; set smaller "
        "eval.scales or scale the images down in data.val.transforms",
        bytes.scale, height, width, gb(bytes.beside), gb(static_cast<double>(memory_limit()))));
  }
  if (bytes.all() < room) return "";
  return fmt::format("out of memory (about {} needed, {} there)", gb(bytes.all()), gb(static_cast<double>(memory_limit())));
}

void Predictor::check_memory(int64_t height, int64_t width, int64_t channels) const {
  why_not_tried(limits_.within(eval_for(height, width), height, width), 1, height, width, channels);
}

// Returns what `make` gives for `count` of the images, of so many channels for the network, or nothing where they are to be
// tried again in smaller parts.
template <class Make>
auto Predictor::within_memory(const at::Tensor& images, int64_t channels, int64_t count, const Make& make) const
    -> std::optional<decltype(make(EvalConfig()))> {
  const int64_t height = images.size(1), width = images.size(2);
  const EvalConfig eval = limits_.within(eval_for(height, width), height, width);
  std::string why = why_not_tried(eval, count, height, width, channels), reason;
  if (why.empty()) {
    try {
      return make(eval);
    } catch (const std::exception& e) {
      why = why_too_large(e);
      if (why.empty()) throw;
      reason = error_text(e);
    }
    release_kept_memory();
  }
  if (!limits_.shrink(eval, count, height, width, why)) {
    throw TooLarge(
        fmt::format("{} with {}an image of {} x {}; set eval.window.size and eval.window.batch lower, free memory, "
                    "or use a smaller model. {}",
                    why, takes_windows(eval.window, height, width) ? "windows of " : "", height, width, reason));
  }
  return std::nullopt;
}

// What `make` gives on all ranks of the team, each in passes that fit into its memory. Where one finds none that do, the leader
// makes it alone, which throws what it may; the others' result is then empty.
template <class Make, class MakeAlone>
auto Predictor::on_team(const ImageGroup& images, const WindowTeam& team, const Make& make, const MakeAlone& make_alone) const
    -> decltype(make_alone()) {
  const int64_t height = images.height(), width = images.width();
  std::optional<decltype(make_alone())> made;
  TeamWord word = TeamWord::kAgain;
  while (word == TeamWord::kAgain) {
    const EvalConfig eval = limits_.passes_within(eval_for(height, width));
    word = team.attempt(
        made, [&] { return make(eval); },
        [&](const std::string& why) { return limits_.shrink_passes(eval, 1, height, width, why); });
  }
  if (made) return std::move(*made);
  if (!team.leads()) return {};
  log_warn("an image of {} x {} is computed by one rank alone, as memory ran out on one of the ranks that shared it", height,
           width);
  return make_alone();
}

ImageScores Predictor::scores(const at::Tensor& images, float max_value) const {
  std::vector<at::Tensor> parts;
  for (int64_t done = 0; done < images.size(0);) {
    const int64_t count = std::min(images.size(0) - done, limits_.images());
    const auto part = within_memory(images, images.size(3), count, [&](const EvalConfig& eval) {
      return scores_of(eval, images.narrow(0, done, count), max_value, {});
    });
    if (!part) continue;
    if (count == images.size(0)) return *part;
    parts.push_back(part->full());
    done += count;
  }
  return {at::cat(parts), images.size(1), images.size(2)};
}

ImageScores Predictor::scores(const ImageGroup& images, const WindowTeam& team) const {
  const auto alone = [&] { return scores(images.converted(), images.max_value); };
  if (team.alone()) return alone();
  return on_team(
      images, team, [&](const EvalConfig& eval) { return scores_of(eval, images.converted(), images.max_value, team); }, alone);
}

void Predictor::class_rows(const ImageGroup& image, const RowSink& sink) const {
  while (true) {
    const auto done = within_memory(image.pixels, image.num_channels(), 1, [&](const EvalConfig& eval) {
      const auto& placement = image.placements.at(0);
      const bool same_rows =
          !placement || (placement->original == Size{static_cast<int>(image.height()), static_cast<int>(image.width())} &&
                         !placement->flipped);
      if (same_rows && streams_windows(eval, image)) {
        windowed_classes(eval, image, {}, sink);
      } else {
        sink(0, class_maps_of(eval, image, {})[0]);
      }
      return true;
    });
    if (done) return;
  }
}

std::vector<at::Tensor> Predictor::class_maps(const ImageGroup& images, const WindowTeam& team) const {
  if (!team.alone())
    return on_team(
        images, team, [&](const EvalConfig& eval) { return class_maps_of(eval, images, team); },
        [&] { return class_maps(images); });
  std::vector<at::Tensor> maps;
  for (int64_t done = 0; done < images.size();) {
    const int64_t count = std::min(images.size() - done, limits_.images());
    const auto part = within_memory(images.pixels, images.num_channels(), count,
                                    [&](const EvalConfig& eval) { return class_maps_of(eval, images.part(done, count), {}); });
    if (!part) continue;
    maps.insert(maps.end(), part->begin(), part->end());
    done += count;
  }
  return maps;
}

}  // namespace tessera
