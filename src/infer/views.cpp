#include "infer/views.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>

#include "infer/window_bands.h"

namespace tessera {
namespace {

int64_t scaled(int64_t length, double scale) {
  return std::max<int64_t>(1, std::llround(static_cast<double>(length) * scale));
}

// A whole image is one window.
WindowGrid grid_of(const View& view, const WindowConfig& window) {
  if (takes_windows(window, view.height, view.width)) return window_grid(view.height, view.width, window);
  return {{view.height, view.height, 1}, {view.width, view.width, 1}};
}

bool share_passes(const View& a, const View& b, const WindowConfig& window) {
  const WindowGrid one = grid_of(a, window), other = grid_of(b, window);
  return one.rows.size == other.rows.size && one.columns.size == other.columns.size &&
         takes_windows(window, a.height, a.width) == takes_windows(window, b.height, b.width);
}

// Images at the scale they were last asked for: views come scale by scale.
class ScaledImages {
 public:
  explicit ScaledImages(at::Tensor x) : x_(std::move(x)), resized_(x_) {}

  // A window of a view, with a first dimension of 1.
  at::Tensor cut(const View& view, int64_t image, const WindowCorner& corner, const WindowGrid& grid) {
    if (resized_.size(2) != view.height || resized_.size(3) != view.width) {
      const bool same = x_.size(2) == view.height && x_.size(3) == view.width;
      resized_ = same ? x_ : at::upsample_bilinear2d(x_, {view.height, view.width}, /*align_corners=*/false);
    }
    const int64_t width = grid.columns.size, left = view.mirrored ? view.width - corner.x - width : corner.x;
    const at::Tensor window = resized_.narrow(0, image, 1).narrow(2, corner.y, grid.rows.size).narrow(3, left, width);
    return view.mirrored ? window.flip({3}) : window;
  }

  int64_t count() const { return x_.size(0); }

 private:
  at::Tensor x_, resized_;
};

// The scores of one view as they come in.
class ViewScores {
 public:
  using Take = std::function<void(const View& view, const at::Tensor& scores)>;

  ViewScores(ScaledImages& images, const View& view, const WindowConfig& window, const WindowTeam& team, Take take)
      : images_(images),
        view_(view),
        windowed_(takes_windows(window, view.height, view.width)),
        grid_(grid_of(view, window)),
        team_(team),
        take_(std::move(take)) {
    // A whole image is one rank's work.
    part_ = windowed_ ? team.own_part(grid_.rows) : team.leads() ? whole_part(grid_.rows) : WindowPart{};
    if (windowed_) {
      bands_.emplace(images.count(), grid_, part_, window_weights(grid_, window.weights),
                     [this](const WindowSums& band) { pieces_.push_back(band.average()); });
    }
  }

  WindowView windows() {
    const auto cut = [this](int64_t image, const WindowCorner& corner) { return images_.cut(view_, image, corner, grid_); };
    const auto take = [this](int64_t first, const at::Tensor& scores) {
      windowed_ ? bands_->add(first, scores) : pieces_.push_back(scores);
      if (first + scores.size(0) == images_.count() * grid_.columns.count * part_.end) finish();
    };
    return {images_.count(), grid_, part_, cut, take};
  }

 private:
  void finish() {
    bands_.reset();
    at::Tensor all = pieces_.size() == 1 ? pieces_[0] : at::cat(pieces_, windowed_ ? 2 : 0);
    pieces_.clear();
    if (windowed_) all = team_.collect(all, grid_.rows, 2);
    if (team_.leads()) take_(view_, all);
  }

  ScaledImages& images_;
  View view_;
  bool windowed_;
  WindowGrid grid_;
  const WindowTeam& team_;
  Take take_;
  WindowPart part_;
  std::optional<WindowBands> bands_;
  std::vector<at::Tensor> pieces_;
};

}  // namespace

std::vector<View> views_of(const EvalConfig& eval, int64_t height, int64_t width) {
  std::vector<View> views;
  for (const double scale : eval.scales) {
    for (const bool mirrored : {false, true}) {
      if (mirrored && !eval.flip) continue;
      const View view{scale, mirrored, scaled(height, scale), scaled(width, scale)};
      const auto alike =
          std::find_if(views.rbegin(), views.rend(), [&](const View& other) { return share_passes(view, other, eval.window); });
      views.insert(alike == views.rend() ? views.end() : alike.base(), view);
    }
  }
  return views;
}

void each_view(const at::Tensor& x, const std::vector<View>& views, const EvalConfig& eval, const ViewNetwork& network,
               const WindowTeam& team, const std::function<void(const View&, const at::Tensor&)>& take) {
  const auto scores = [&](const std::vector<at::Tensor>& windows) { return network.scores(at::cat(windows)); };
  ScaledImages images(x);
  for (size_t begin = 0, end = 0; begin < views.size(); begin = end) {
    std::deque<ViewScores> group;  // stays where it is: its windows refer to it
    std::vector<WindowView> windows;
    for (; end < views.size() && share_passes(views[begin], views[end], eval.window); ++end) {
      windows.push_back(group.emplace_back(images, views[end], eval.window, team, take).windows());
    }
    const bool windowed = takes_windows(eval.window, views[begin].height, views[begin].width);
    each_window_batch(windows, windowed ? eval.window.batch : network.batch, scores);
  }
}

}  // namespace tessera
