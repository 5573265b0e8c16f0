#include "infer/windows/views.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "infer/windows/window_bands.h"

namespace tessera {
namespace {

int64_t scaled(int64_t length, double scale) {
  return std::max<int64_t>(1, std::llround(static_cast<double>(length) * scale));
}

bool is_windowed(const View& view, const WindowConfig& window) {
  return takes_windows(window, view.height, view.width);
}

// A whole image is one window.
WindowGrid grid_of(const View& view, const WindowConfig& window) {
  if (is_windowed(view, window)) return window_grid(view.height, view.width, window);
  return {{view.height, view.height, 1}, {view.width, view.width, 1}};
}

bool share_passes(const View& a, const View& b, const WindowConfig& window) {
  const WindowGrid one = grid_of(a, window), other = grid_of(b, window);
  return one.rows.size == other.rows.size && one.columns.size == other.columns.size &&
         is_windowed(a, window) == is_windowed(b, window);
}

// Images at the scale they were last asked for: views come scale by scale.
class ScaledImages {
 public:
  explicit ScaledImages(at::Tensor x) : x_(std::move(x)), resized_(x_) {}

  // A window of a view, with a first dimension of 1.
  at::Tensor cut(const View& view, const WindowPlace& place, const WindowGrid& grid) {
    if (resized_.size(2) != view.height || resized_.size(3) != view.width) {
      const bool same = x_.size(2) == view.height && x_.size(3) == view.width;
      resized_ = same ? x_ : at::upsample_bilinear2d(x_, {view.height, view.width}, /*align_corners=*/false);
    }
    const int64_t width = grid.columns.size, left = view.mirrored ? view.width - place.x - width : place.x;
    const at::Tensor window = resized_.narrow(0, place.image, 1).narrow(2, place.y, grid.rows.size).narrow(3, left, width);
    return view.mirrored ? window.flip({3}) : window;
  }

 private:
  at::Tensor x_, resized_;
};

// The scores of one view as they come in: windows are averaged band by band, whole images stay as the network left them.
class ViewScores {
 public:
  ViewScores(int64_t images, const View& view, const WindowConfig& window, const WindowTeam& team)
      : view_(view), team_(team), windows_{images, grid_of(view, window), {}} {
    const WindowGrid& grid = windows_.grid;
    if (is_windowed(view, window)) {
      windows_.part = team.own_part(grid.rows);
      bands_.emplace(windows_, window_weights(grid, window.weights));
    } else if (team.leads()) {  // a whole image is one rank's work
      windows_.part = whole_part(grid.rows);
    }
  }

  const View& view() const { return view_; }
  const WindowView& windows() const { return windows_; }

  // Scores of the windows from number `first` on. Returns whether they were the last that this rank computes.
  bool add(int64_t first, const at::Tensor& scores) {
    if (bands_) {
      bands_->add(first, scores);
      while (const std::optional<WindowSums> band = bands_->next()) pieces_.push_back(band->average());
    } else {
      pieces_.push_back(scores);
    }
    return first + scores.size(0) == windows_.in_row() * windows_.part.end;
  }

  // The scores of all ranks' windows on the leader of the team; elsewhere undefined. Of windows, called by all ranks.
  at::Tensor collect() {
    const bool windowed = bands_.has_value();
    bands_.reset();
    at::Tensor own;
    if (!pieces_.empty()) own = pieces_.size() == 1 ? pieces_[0] : at::cat(pieces_, windowed ? 2 : 0);
    pieces_.clear();
    return windowed ? team_.collect(own, windows_.grid.rows, 2) : own;
  }

 private:
  View view_;
  WindowTeam team_;
  WindowView windows_;
  std::optional<WindowBands> bands_;  // none: of whole images
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
               const WindowTeam& team, const std::function<void(const View&, const at::Tensor&)>& on_view) {
  ScaledImages images(x);
  for (size_t begin = 0, end = 0; begin < views.size(); begin = end) {
    std::vector<ViewScores> group;  // of views that share passes
    std::vector<WindowView> windows;
    for (; end < views.size() && share_passes(views[begin], views[end], eval.window); ++end) {
      group.emplace_back(x.size(0), views[end], eval.window, team);
      windows.push_back(group.back().windows());
    }
    const auto scores_of = [&](const WindowPass& pass) {
      std::vector<at::Tensor> inputs;
      for (const WindowPlace& place : pass.windows) {
        inputs.push_back(images.cut(group[place.view].view(), place, windows[place.view].grid));
      }
      return network.scores(at::cat(inputs));
    };
    size_t collected = 0;
    const auto collect_up_to = [&](size_t last) {  // in order: the other ranks do it in the same
      for (; collected < last; ++collected) {
        const at::Tensor complete = group[collected].collect();
        if (team.leads()) on_view(group[collected].view(), complete);
      }
    };
    WindowPasses passes(windows, is_windowed(views[begin], eval.window) ? eval.window.batch : network.batch);
    while (const std::optional<WindowPass> pass = passes.next()) {
      const at::Tensor scores = scores_of(*pass);
      for (const WantedScores& wanted : pass->wanted) {
        if (group[wanted.view].add(wanted.first, wanted.of(scores))) collect_up_to(wanted.view + 1);
      }
    }
    collect_up_to(group.size());  // views of which this rank has no part, and others have
  }
}

}  // namespace tessera
