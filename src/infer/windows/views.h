#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "config/train_config.h"
#include "infer/windows/window_team.h"

namespace tessera {

// An image as the network gets to see it.
struct View {
  double scale = 1;
  bool mirrored = false;
  int64_t height = 0, width = 0;  // of the image at this scale
};

// The views of an image that eval.scales and eval.flip ask for. Those that share forward passes stand side by side: whole
// images of one size, and images that are cut into windows of one size.
std::vector<View> views_of(const EvalConfig& eval, int64_t height, int64_t width);

// How views become scores.
struct ViewNetwork {
  int64_t batch = 1;                                      // whole images in a forward pass; of windows, eval.window.batch
  std::function<at::Tensor(const at::Tensor& x)> scores;  // (B, C, h, w) -> (B, K, any size)
};

// Computes the scores of each view, in order, and hands them to `on_view`, on the leader of the team alone: (N, K, h, w), of
// whole images in the network's resolution, of windows averaged at the view's size. Forward passes are filled with all views
// of one size. x: (N, C, H, W), normalised. Memory: the passes, and the scores of one view.
void each_view(const at::Tensor& x, const std::vector<View>& views, const EvalConfig& eval, const ViewNetwork& network,
               const WindowTeam& team, const std::function<void(const View& view, const at::Tensor& scores)>& on_view);

}  // namespace tessera
