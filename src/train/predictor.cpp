#include "train/predictor.h"

#include <torch/types.h>

#include <cmath>

#include "core/error.h"
#include "data/normalize.h"
#include "kernels/upsample_argmax.h"
#include "train/precision.h"
#include "train/window.h"

namespace tessera {
namespace {

at::Tensor resize_scores(const at::Tensor& x, int64_t height, int64_t width) {
  if (x.size(2) == height && x.size(3) == width) return x;
  return at::upsample_bilinear2d(x, {height, width}, /*align_corners=*/false);
}

at::Tensor to_probabilities(const at::Tensor& scores) {
  return scores.size(1) == 1 ? scores.sigmoid() : scores.softmax(1);
}

}  // namespace

Predictor::Predictor(const Experiment& experiment, ModelPtr model, at::Device device)
    : eval_(experiment.eval),
      normalize_(experiment.data.normalize),
      precision_(experiment.train.precision),
      channels_last_(experiment.train.channels_last),
      model_(std::move(model)),
      device_(device) {}

bool Predictor::averages_views() const {
  return eval_.flip || eval_.scales.size() > 1;
}

at::Tensor Predictor::scores(const at::Tensor& images, float max_value) const {
  const at::NoGradGuard no_grad;
  model_->eval();
  const at::Tensor x = normalize_images(images.to(device_), max_value, normalize_, parameter_type(precision_));
  if (!averages_views() && eval_.scales.at(0) == 1.0) return view_scores(x);
  at::Tensor sum;
  for (const double scale : eval_.scales) {
    const auto height = std::max<int64_t>(1, std::llround(static_cast<double>(x.size(2)) * scale));
    const auto width = std::max<int64_t>(1, std::llround(static_cast<double>(x.size(3)) * scale));
    const at::Tensor scaled = resize_scores(x, height, width);
    for (const bool mirrored : {false, true}) {
      if (mirrored && !eval_.flip) continue;
      at::Tensor view = view_scores(mirrored ? scaled.flip({3}) : scaled);
      if (mirrored) view = view.flip({3});
      view = resize_scores(view, x.size(2), x.size(3));
      if (averages_views()) view = to_probabilities(view);
      sum = sum.defined() ? sum + view : view;
    }
  }
  const auto views = static_cast<double>(eval_.scales.size() * (eval_.flip ? 2 : 1));
  return views > 1 ? sum / views : sum;
}

at::Tensor Predictor::view_scores(const at::Tensor& x) const {
  const Size window = eval_.window.size;
  const bool windowed = window.height > 0 && (x.size(2) > window.height || x.size(3) > window.width);
  return windowed ? sliding_window(x) : network(x);
}

at::Tensor Predictor::network(const at::Tensor& x) const {
  at::Tensor input = x;
  // A model with valid convolutions sees a surround of repeated border pixels, so that it predicts every pixel.
  const auto surround = [&](int64_t size) {
    int64_t added = 0;
    while (size + 2 * added < model_->min_size() || model_->covered(size + 2 * added) < size) ++added;
    return added;
  };
  const int64_t y = surround(x.size(2)), left = surround(x.size(3));
  if (y + left > 0) input = at::replication_pad2d(x, {left, left, y, y});
  const AutocastScope autocast(precision_, device_);
  const at::Tensor logits = model_->forward(channels_last_ ? input : input.contiguous()).logits;
  at::Tensor scores = logits.scalar_type() == at::kDouble ? logits : logits.to(at::kFloat);
  if (y + left > 0) {  // logits of a valid model have the input's resolution
    return scores.narrow(2, (scores.size(2) - x.size(2) + 1) / 2, x.size(2))
        .narrow(3, (scores.size(3) - x.size(3) + 1) / 2, x.size(3));
  }
  return resize_scores(scores, x.size(2), x.size(3));
}

at::Tensor Predictor::sliding_window(const at::Tensor& x) const {
  const Size size{static_cast<int>(std::min<int64_t>(eval_.window.size.height, x.size(2))),
                  static_cast<int>(std::min<int64_t>(eval_.window.size.width, x.size(3)))};
  const auto corners = window_corners({static_cast<int>(x.size(2)), static_cast<int>(x.size(3))}, size, eval_.window.stride);
  const at::Tensor weights = window_weights(size, eval_.window.weights).to(x.device());
  at::Tensor sum, total = at::zeros({1, 1, x.size(2), x.size(3)}, weights.options());
  // Windows of all images share forward passes.
  std::vector<std::pair<int64_t, WindowCorner>> jobs;
  for (int64_t n = 0; n < x.size(0); ++n) {
    for (const WindowCorner& corner : corners) jobs.emplace_back(n, corner);
  }
  const auto cut = [&](const at::Tensor& from, const WindowCorner& at_corner) {
    return from.slice(2, at_corner.y, at_corner.y + size.height).slice(3, at_corner.x, at_corner.x + size.width);
  };
  for (const WindowCorner& corner : corners) cut(total, corner).add_(weights);
  for (size_t begin = 0; begin < jobs.size(); begin += static_cast<size_t>(eval_.window.batch)) {
    const size_t end = std::min(jobs.size(), begin + static_cast<size_t>(eval_.window.batch));
    std::vector<at::Tensor> pieces;
    for (size_t i = begin; i < end; ++i) pieces.push_back(cut(x.narrow(0, jobs[i].first, 1), jobs[i].second));
    const at::Tensor scores = network(at::cat(pieces));
    if (!sum.defined())
      sum = at::zeros({x.size(0), scores.size(1), x.size(2), x.size(3)}, scores.options().memory_format(std::nullopt));
    for (size_t i = begin; i < end; ++i) {
      cut(sum.narrow(0, jobs[i].first, 1), jobs[i].second).add_(scores.narrow(0, static_cast<int64_t>(i - begin), 1) * weights);
    }
  }
  return sum / total;
}

Predictor::Part Predictor::original_part(const at::Tensor& scores, const Placement* placement) const {
  at::Tensor x = scores.unsqueeze(0);
  if (placement == nullptr) return {x, x.size(2), x.size(3)};
  TSR_CHECK(placement->complete,
            "the validation transforms cut pixels away, so predictions cannot be taken back to the original image; use resize "
            "or pad instead of a crop, or set eval.at=processed");
  if (placement->flipped) x = x.flip({3});
  const auto round = [](double value) { return static_cast<int64_t>(std::llround(value)); };
  const int64_t y = round(placement->y), left = round(placement->x);
  x = x.slice(2, y, y + std::max<int64_t>(1, round(placement->height)))
          .slice(3, left, left + std::max<int64_t>(1, round(placement->width)));
  return {x, placement->original.height, placement->original.width};
}

at::Tensor Predictor::classes(const at::Tensor& scores, const Placement* placement) const {
  const at::NoGradGuard no_grad;
  const auto [part, height, width] = original_part(scores, placement);
  if (part.size(1) > 1 && part.is_cpu()) return upsample_argmax(part, height, width)[0];
  const at::Tensor x = resize_scores(part, height, width)[0];
  if (x.size(0) == 1) return (x[0] > (averages_views() ? 0.5 : 0.0)).to(at::kShort);
  return x.argmax(0).to(at::kShort);
}

at::Tensor Predictor::probabilities(const at::Tensor& scores, const Placement* placement) const {
  const at::NoGradGuard no_grad;
  const auto [part, height, width] = original_part(scores, placement);
  const at::Tensor x = resize_scores(part, height, width);
  const at::Tensor p = averages_views() ? x : to_probabilities(x);
  return (p.size(1) == 1 ? at::cat({1 - p, p}, 1) : p)[0];
}

}  // namespace tessera
