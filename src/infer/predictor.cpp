#include "infer/predictor.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "data/batch/normalize.h"
#include "infer/original_pixels.h"
#include "infer/precision.h"
#include "infer/torch_settings.h"
#include "infer/windows/auto_windows.h"
#include "infer/windows/views.h"
#include "infer/windows/window_inputs.h"
#include "kernels/common/fused.h"
#include "kernels/features/resize_bilinear.h"
#include "kernels/loss/upsample_argmax.h"
#include "tensor/upload.h"

namespace tessera {
namespace {

at::Tensor resize_scores(const at::Tensor& x, int64_t height, int64_t width) {
  return resize(x, {height, width}, /*align_corners=*/false);
}

at::Tensor in_float(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
}

at::Tensor to_probabilities(const at::Tensor& scores, bool multi_label) {
  return multi_label || scores.size(1) == 1 ? scores.sigmoid() : scores.softmax(1);
}

// (N, K, H, W) bool to (N, H, W) int16: Note [Multi-label maps].
at::Tensor class_sets(const at::Tensor& there) {
  at::Tensor sets = at::zeros_like(there.select(1, 0), at::kShort);
  for (int64_t c = 0; c < there.size(1); ++c) sets.add_(there.select(1, c), int64_t{1} << c);
  return sets;
}

// The sum of views, each brought back to the images' own size and orientation.
class ViewSum {
 public:
  using Probabilities = std::function<at::Tensor(const at::Tensor& scores)>;

  // probabilities: what is added up in place of the scores themselves; may be empty.
  ViewSum(int64_t height, int64_t width, Probabilities probabilities)
      : height_(height), width_(width), probabilities_(std::move(probabilities)) {}

  void add(const View& view, const at::Tensor& scores) {
    const int64_t count = scores.size(0);
    for (int64_t i = 0; i < count; ++i) {  // one after another: scores at the size of an image are large
      at::Tensor own = ImageScores{scores.narrow(0, i, 1), view.height, view.width}.full();
      if (view.mirrored) own = own.flip({3});
      own = resize_scores(own, height_, width_);
      if (probabilities_) own = probabilities_(own);
      if (!sum_.defined() && count == 1) {
        sum_ = own;
        return;
      }
      if (!sum_.defined())
        sum_ = at::empty({count, own.size(1), height_, width_}, own.options(), own.suggest_memory_format()).zero_();
      sum_.narrow(0, i, 1).add_(own);
    }
  }

  const at::Tensor& sum() const { return sum_; }  // (N, K, height, width)

 private:
  int64_t height_, width_;
  Probabilities probabilities_;
  at::Tensor sum_;
};

// Returns the classes of each image, (H, W), or those of its original where a placement says which pixels show it.
std::vector<at::Tensor> cut_originals(const at::Tensor& classes, const std::vector<std::optional<Placement>>& placements) {
  std::vector<at::Tensor> maps;
  for (size_t i = 0; i < placements.size(); ++i) {
    const at::Tensor own = classes[static_cast<int64_t>(i)];
    maps.push_back(placements[i] ? cut_original(own, *placements[i]).contiguous() : own);
  }
  return maps;
}

}  // namespace

at::Tensor ImageScores::full() const {
  return resize_scores(in_float(values), height, width);
}

Predictor::Predictor(const Experiment& experiment, ModelPtr model, at::Device device)
    : eval_(experiment.eval),
      crop_(training_crop(experiment.data.train.transforms)),
      normalize_(experiment.data.normalize),
      train_(experiment.train),
      multi_label_(experiment.data.labels.multi),
      model_(std::move(model)),
      device_(device) {
  if (eval_.batch_size == 0) eval_.batch_size = train_.batch_size;
}

bool Predictor::averages_views() const {
  return eval_.flip || eval_.scales.size() > 1;
}

bool Predictor::keeps_scale() const {
  return !averages_views() && eval_.scales.at(0) == 1.0;
}

EvalConfig Predictor::eval_for(int64_t height, int64_t width) const {
  return with_windows_for(eval_, crop_, device_, height, width);
}

bool Predictor::splits_over(int ranks, int64_t height, int64_t width) const {
  const EvalConfig eval = eval_for(height, width);
  const std::vector<View> views = views_of(eval, height, width);
  return ranks > 1 && std::any_of(views.begin(), views.end(), [&](const View& view) {
           return takes_windows(eval.window, view.height, view.width) &&
                  !deal_windows(window_grid(view.height, view.width, eval.window).rows, ranks)[1].empty();
         });
}

void Predictor::begin(const EvalConfig& eval, const at::Tensor& images) const {
  model_->eval();
  // Trying convolution algorithms out pays for shapes that come again.
  const Shape shape{images.size(0), images.size(1), images.size(2)};
  const bool known = takes_windows(eval.window, images.size(1), images.size(2)) || shapes_.contains(shape);
  shapes_.insert(shape);
  set_up_backend(train_, device_, /*fixed_shapes=*/known);
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

ImageScores Predictor::scores_of(const EvalConfig& eval, const at::Tensor& images, float max_value,
                                 const WindowTeam& team) const {
  const at::NoGradGuard no_grad;
  begin(eval, images);
  const at::Tensor x = normalize_images(upload(images, device_), max_value, normalize_,
                                        keeps_scale() ? input_type(train_.precision) : parameter_type(train_.precision));
  const int64_t height = x.size(2), width = x.size(3);
  if (keeps_scale() && !takes_windows(eval.window, height, width))
    return team.leads() ? ImageScores{network(x, team), height, width} : ImageScores{};

  const std::vector<View> views = views_of(eval, height, width);
  const ViewNetwork view_network{.batch = std::max(eval.batch_size, x.size(0)),
                                 .scores = [&](const at::Tensor& input) { return network(input, team); }};
  ViewSum::Probabilities probabilities;
  if (averages_views()) probabilities = [&](const at::Tensor& scores) { return to_probabilities(scores, multi_label_); };
  ViewSum sum(height, width, probabilities);
  each_view(x, views, eval, view_network, team, [&](const View& view, const at::Tensor& scores) { sum.add(view, scores); });
  if (!team.leads()) return {};
  return {views.size() > 1 ? sum.sum() / static_cast<double>(views.size()) : sum.sum(), height, width};
}

at::Tensor Predictor::windowed_classes(const EvalConfig& eval, const ImageGroup& images, const WindowTeam& team,
                                       const RowSink& sink) const {
  const at::NoGradGuard no_grad;
  const KeptCasts kept;
  begin(eval, images.pixels);
  const WindowGrid grid = window_grid(images.height(), images.width(), eval.window);
  const InputFormat format{normalize_, images.max_value, input_type(train_.precision), images.num_channels()};
  const WindowInputs inputs(images.pixels, grid, format, device_);
  const WindowView view{images.size(), grid, team.own_part(grid.rows)};
  WindowClasses classes(
      view, eval.window.weights, /*argmax=*/!multi_label_,
      [&](const at::Tensor& scores) { return best_class(scores, scores.size(2), scores.size(3)); }, sink);
  const int64_t all = view.in_row() * (view.part.end - view.part.first);
  int64_t done = 0;
  WindowPasses passes({view}, eval.window.batch);
  while (const std::optional<WindowPass> pass = passes.next()) {
    const at::Tensor scores = network(inputs.of(pass->windows), team);
    for (const WantedScores& wanted : pass->wanted) {
      classes.add(wanted.first, wanted.of(scores));
      done += wanted.count;
    }
    if (watch_) watch_(done, all);
  }
  if (sink) return classes.result();
  return team.collect(classes.result(), grid.rows, 1);
}

std::vector<at::Tensor> Predictor::class_maps_of(const EvalConfig& eval, const ImageGroup& images,
                                                 const WindowTeam& team) const {
  const at::NoGradGuard no_grad;
  const auto& placements = images.placements;
  const bool whole_frames = std::all_of(placements.begin(), placements.end(), keeps_size);
  if (streams_windows(eval, images)) {
    const at::Tensor classes = windowed_classes(eval, images, team);
    return team.leads() ? cut_originals(classes, placements) : std::vector<at::Tensor>();
  }
  const ImageScores all = scores_of(eval, images.converted(), images.max_value, team);
  if (!team.leads()) return {};
  if (whole_frames && !multi_label_ && use_fused(all.values))
    return cut_originals(best_class(all.values, all.height, all.width), placements);
  std::vector<at::Tensor> maps;
  // One after another: scores at the size of an image are large.
  for (size_t i = 0; i < placements.size(); ++i) maps.push_back(classes(all.of(static_cast<int64_t>(i)), placements[i]));
  return maps;
}

// A probability of 1/2 is a logit of exactly 0.
double Predictor::threshold() const {
  return averages_views() ? eval_.threshold : std::log(eval_.threshold / (1 - eval_.threshold));
}

// The largest of a pixel's scores is the same before and after the original is cut out, but not after it is resized.
bool Predictor::streams_windows(const EvalConfig& eval, const ImageGroup& images) const {
  return std::all_of(images.placements.begin(), images.placements.end(), keeps_size) && keeps_scale() &&
         takes_windows(eval.window, images.height(), images.width());
}

at::Tensor Predictor::best_class(const at::Tensor& scores, int64_t height, int64_t width) const {
  if (scores.size(1) > 1 && !multi_label_ && use_fused(scores)) return upsample_argmax(scores, height, width);
  const at::Tensor x = resize_scores(in_float(scores), height, width);
  if (multi_label_) return class_sets(x > threshold());
  if (x.size(1) == 1) return (x.select(1, 0) > threshold()).to(at::kShort);
  return x.argmax(1).to(at::kShort);
}

Predictor::Part Predictor::original_part(const ImageScores& scores, const std::optional<Placement>& placement) const {
  const at::Tensor x = scores.full();
  if (!placement) return {x, x.size(2), x.size(3)};
  return {cut_original(x, *placement), placement->original.height, placement->original.width};
}

at::Tensor Predictor::classes(const ImageScores& scores, const std::optional<Placement>& placement) const {
  const at::NoGradGuard no_grad;
  if (keeps_size(placement)) return cut_originals(best_class(scores.values, scores.height, scores.width), {placement})[0];
  const auto [part, height, width] = original_part(scores, placement);
  return best_class(part, height, width)[0];
}

at::Tensor Predictor::probabilities(const ImageScores& scores, const std::optional<Placement>& placement) const {
  const at::NoGradGuard no_grad;
  const auto [part, height, width] = original_part(scores, placement);
  const at::Tensor x = resize_scores(part, height, width);
  const at::Tensor p = averages_views() ? x : to_probabilities(x, multi_label_);
  return (p.size(1) == 1 && !multi_label_ ? at::cat({1 - p, p}, 1) : p)[0];
}

}  // namespace tessera
