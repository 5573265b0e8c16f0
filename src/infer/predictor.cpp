#include "infer/predictor.h"

#include <torch/types.h>

#include <algorithm>

#include "data/batch/normalize.h"
#include "infer/original_pixels.h"
#include "infer/precision.h"
#include "infer/torch_settings.h"
#include "infer/views.h"
#include "infer/window_classes.h"
#include "kernels/common/fused.h"
#include "kernels/features/resize_bilinear.h"
#include "kernels/loss/upsample_argmax.h"
#include "tensor/upload.h"

namespace tessera {
namespace {

// Images of more bytes go to a GPU window by window.
constexpr size_t kSentWhole = size_t{256} << 20;

at::Tensor resize_scores(const at::Tensor& x, int64_t height, int64_t width) {
  return resize(x, {height, width}, /*align_corners=*/false);
}

at::Tensor in_float(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
}

at::Tensor to_probabilities(const at::Tensor& scores) {
  return scores.size(1) == 1 ? scores.sigmoid() : scores.softmax(1);
}

}  // namespace

at::Tensor ImageScores::full() const {
  return resize_scores(in_float(values), height, width);
}

Predictor::Predictor(const Experiment& experiment, ModelPtr model, at::Device device)
    : eval_(experiment.eval),
      normalize_(experiment.data.normalize),
      train_(experiment.train),
      model_(std::move(model)),
      device_(device) {
  if (eval_.batch_size == 0) eval_.batch_size = train_.batch_size;
}

bool Predictor::averages_views() const {
  return eval_.flip || eval_.scales.size() > 1;
}

void Predictor::begin(const EvalConfig& eval, const at::Tensor& images) const {
  model_->eval();
  // Trying convolution algorithms out pays for shapes that come again.
  const Shape shape{images.size(0), images.size(1), images.size(2)};
  const bool known = takes_windows(eval.window, images.size(1), images.size(2)) || shapes_.contains(shape);
  shapes_.insert(shape);
  set_up_backend(train_, device_, /*fixed_shapes=*/known);
}

bool Predictor::occupies(int ranks, int64_t height, int64_t width) const {
  const std::vector<View> views = views_of(eval_, height, width);
  return ranks > 1 && std::any_of(views.begin(), views.end(), [&](const View& view) {
           return takes_windows(eval_.window, view.height, view.width) &&
                  !deal_windows(window_grid(view.height, view.width, eval_.window).rows, ranks)[1].empty();
         });
}

ImageScores Predictor::scores_of(const EvalConfig& eval, const at::Tensor& images, float max_value,
                                 const WindowTeam& team) const {
  const at::NoGradGuard no_grad;
  begin(eval, images);
  const bool plain = !averages_views() && eval.scales.at(0) == 1.0;
  const at::Tensor x = normalize_images(upload(images, device_), max_value, normalize_,
                                        plain ? input_type(train_.precision) : parameter_type(train_.precision));
  const int64_t height = x.size(2), width = x.size(3);
  if (plain && !takes_windows(eval.window, height, width))
    return team.leads() ? ImageScores{network(x, team), height, width} : ImageScores{};
  const std::vector<View> views = views_of(eval, height, width);
  at::Tensor sum;
  const auto add = [&](const View& view, const at::Tensor& scores) {
    const int64_t count = scores.size(0);
    for (int64_t i = 0; i < count; ++i) {  // one after another: scores at the size of an image are large
      at::Tensor own = ImageScores{scores.narrow(0, i, 1), view.height, view.width}.full();
      if (view.mirrored) own = own.flip({3});
      own = resize_scores(own, height, width);
      if (averages_views()) own = to_probabilities(own);
      if (!sum.defined() && count == 1) {
        sum = own;
        return;
      }
      if (!sum.defined())
        sum = at::empty({count, own.size(1), height, width}, own.options(), own.suggest_memory_format()).zero_();
      sum.narrow(0, i, 1).add_(own);
    }
  };
  const auto pass = [&](const at::Tensor& windows) { return network(windows, team); };
  each_view(x, views, eval, {std::max(eval.batch_size, x.size(0)), pass}, team, add);
  if (!team.leads()) return {};
  return {views.size() > 1 ? sum / static_cast<double>(views.size()) : sum, height, width};
}

at::Tensor Predictor::network(const at::Tensor& x, const WindowTeam& team) const {
  if (team.alone() && stop_asked()) throw PredictionStopped();
  at::Tensor input = x;
  // A model with valid convolutions sees a surround of repeated border pixels, so that it predicts every pixel.
  const auto surround = [&](int64_t size) {
    int64_t added = 0;
    while (size + 2 * added < model_->min_size() || model_->covered(size + 2 * added) < size) ++added;
    return added;
  };
  const int64_t y = surround(x.size(2)), left = surround(x.size(3));
  if (y + left > 0) input = at::replication_pad2d(x, {left, left, y, y});
  const AutocastScope autocast(train_.precision, device_);
  at::Tensor logits = model_->forward(train_.channels_last ? input : input.contiguous()).logits();
  if (y + left > 0) {  // logits of a valid model have the input's resolution
    logits = logits.narrow(2, (logits.size(2) - x.size(2) + 1) / 2, x.size(2))
                 .narrow(3, (logits.size(3) - x.size(3) + 1) / 2, x.size(3));
  }
  return logits;
}

at::Tensor Predictor::windowed_classes(const EvalConfig& eval, const at::Tensor& images, float max_value,
                                       const WindowTeam& team) const {
  const at::NoGradGuard no_grad;
  const KeptCasts kept;
  begin(eval, images);
  const auto normalized = [&](const at::Tensor& pixels) {
    return normalize_images(pixels, max_value, normalize_, input_type(train_.precision));
  };
  // Where each pixel is normalised for itself that is left to the windows: as floats a large image would be four times itself.
  const bool by_window = normalize_.mode == NormalizeMode::kFixed;
  at::Tensor pixels = images;  // (N, H, W, C)
  if (!by_window) {
    pixels = normalized(upload(images, device_)).permute({0, 2, 3, 1});
  } else if (images.nbytes() <= kSentWhole) {
    pixels = upload(images, device_);
  }
  const WindowGrid grid = window_grid(images.size(1), images.size(2), eval.window);
  const auto cut = [&](int64_t image, const WindowCorner& corner) {
    return pixels.narrow(0, image, 1).narrow(1, corner.y, grid.rows.size).narrow(2, corner.x, grid.columns.size);
  };
  const auto scores = [&](const std::vector<at::Tensor>& windows) {
    const at::Tensor joined = upload_joined(windows, device_);
    return network(by_window ? normalized(joined) : joined.permute({0, 3, 1, 2}), team);
  };
  const auto best = [&](const at::Tensor& sums) { return best_class(sums, sums.size(2), sums.size(3)); };
  const at::Tensor own = window_classes({images.size(0), grid, team.own_part(grid.rows), cut, {}}, eval.window, scores, best);
  return team.collect(own, grid.rows, 1);
}

std::vector<at::Tensor> Predictor::class_maps_of(const EvalConfig& eval, const at::Tensor& images, float max_value,
                                                 const std::vector<const Placement*>& placements,
                                                 const WindowTeam& team) const {
  const at::NoGradGuard no_grad;
  const bool whole_frames = std::all_of(placements.begin(), placements.end(), keeps_size);
  const bool plain =
      !averages_views() && eval.scales.at(0) == 1.0 && takes_windows(eval.window, images.size(1), images.size(2));
  std::vector<at::Tensor> maps;
  const auto cut_each = [&](const at::Tensor& all) {
    for (size_t i = 0; team.leads() && i < placements.size(); ++i) {
      const at::Tensor own = all[static_cast<int64_t>(i)];
      maps.push_back(placements[i] == nullptr ? own : cut_original(own, *placements[i]).contiguous());
    }
    return maps;
  };
  if (plain && whole_frames) return cut_each(windowed_classes(eval, images, max_value, team));
  const ImageScores all = scores_of(eval, images, max_value, team);
  if (!team.leads()) return maps;
  if (whole_frames && takes_fused_kernels(all.values)) return cut_each(best_class(all.values, all.height, all.width));
  // One after another: scores at the size of an image are large.
  for (size_t i = 0; i < placements.size(); ++i) maps.push_back(classes(all.of(static_cast<int64_t>(i)), placements[i]));
  return maps;
}

Predictor::Part Predictor::original_part(const ImageScores& scores, const Placement* placement) const {
  const at::Tensor x = scores.full();
  if (placement == nullptr) return {x, x.size(2), x.size(3)};
  return {cut_original(x, *placement), placement->original.height, placement->original.width};
}

at::Tensor Predictor::best_class(const at::Tensor& scores, int64_t height, int64_t width) const {
  if (scores.size(1) > 1 && takes_fused_kernels(scores)) return upsample_argmax(scores, height, width);
  const at::Tensor x = resize_scores(in_float(scores), height, width);
  if (x.size(1) == 1) return (x.select(1, 0) > (averages_views() ? 0.5 : 0.0)).to(at::kShort);
  return x.argmax(1).to(at::kShort);
}

at::Tensor Predictor::classes(const ImageScores& scores, const Placement* placement) const {
  const at::NoGradGuard no_grad;
  if (keeps_size(placement)) {  // the largest of a pixel's scores is the same before and after cutting
    const at::Tensor all = best_class(scores.values, scores.height, scores.width)[0];
    return placement == nullptr ? all : cut_original(all, *placement).contiguous();
  }
  const auto [part, height, width] = original_part(scores, placement);
  return best_class(part, height, width)[0];
}

at::Tensor Predictor::probabilities(const ImageScores& scores, const Placement* placement) const {
  const at::NoGradGuard no_grad;
  const auto [part, height, width] = original_part(scores, placement);
  const at::Tensor x = resize_scores(part, height, width);
  const at::Tensor p = averages_views() ? x : to_probabilities(x);
  return (p.size(1) == 1 ? at::cat({1 - p, p}, 1) : p)[0];
}

}  // namespace tessera
