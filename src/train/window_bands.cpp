#include "train/window_bands.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "kernels/add_windows.h"
#include "tensor/upload.h"

namespace tessera {
namespace {

// The weighted sums of the rows that a row of windows touches, and the weights' own, which are the same for all images.
class Band {
 public:
  Band(int64_t images, Size window, int64_t width, const WindowConfig& config)
      : images_(images), window_(window), width_(width), config_(config) {}

  void add(at::IntArrayRef images, at::IntArrayRef lefts, const at::Tensor& scores) {
    if (!sums_.defined()) start(scores);
    add_windows(sums_, scores, images, lefts, weights_);
  }

  // Of one window of the row at each of these columns.
  void add_weights(at::IntArrayRef lefts) {
    for (const int64_t left : lefts) total_.narrow(1, left, window_.width).add_(weights_);
  }

  WindowSums rows(int64_t y, int64_t count) const { return {y, sums_.narrow(2, 0, count), total_.narrow(0, 0, count)}; }

  // The first `count` rows make room.
  void drop(int64_t count) {
    for (const auto& [kept, rows] : {std::pair(sums_, 2), std::pair(total_, 0)}) {
      const at::Tensor rest = kept.narrow(rows, count, window_.height - count).clone();
      kept.narrow(rows, 0, rest.size(rows)).copy_(rest);
      kept.narrow(rows, rest.size(rows), count).zero_();
    }
  }

 private:
  void start(const at::Tensor& scores) {
    const at::ScalarType type = scores.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    weights_ = upload(window_weights(window_, config_.weights)[0][0].to(type), scores.device());
    total_ = at::zeros({window_.height, width_}, weights_.options());
    sums_ = at::empty({images_, scores.size(1), window_.height, width_}, weights_.options(), window_sum_layout(scores)).zero_();
  }

  int64_t images_;
  Size window_;
  int64_t width_;
  const WindowConfig& config_;
  at::Tensor weights_, sums_, total_;
};

}  // namespace

void add_up_windows(const WindowNetwork& network, const WindowConfig& config,
                    const std::function<void(const WindowSums&)>& take) {
  const Size size{static_cast<int>(std::min<int64_t>(config.size.height, network.height)),
                  static_cast<int>(std::min<int64_t>(config.size.width, network.width))};
  const auto corners = window_corners({static_cast<int>(network.height), static_cast<int>(network.width)}, size, config.stride);
  Band band(network.images, size, network.width, config);
  for (auto row = corners.begin(), row_end = row; row != corners.end(); row = row_end) {
    row_end = std::find_if(row, corners.end(), [&](const WindowCorner& corner) { return corner.y != row->y; });
    const auto in_row = static_cast<size_t>(row_end - row), jobs = in_row * static_cast<size_t>(network.images);
    std::vector<int64_t> images, lefts;
    for (size_t job = 0; job < jobs; ++job) {
      images.push_back(static_cast<int64_t>(job / in_row));
      lefts.push_back(row[static_cast<int64_t>(job % in_row)].x);
    }
    for (size_t begin = 0; begin < jobs; begin += static_cast<size_t>(config.batch)) {
      const size_t count = std::min(jobs - begin, static_cast<size_t>(config.batch));
      std::vector<at::Tensor> windows;
      for (size_t job = begin; job < begin + count; ++job) {
        windows.push_back(network.cut(images[job], {row->y, lefts[job]}, size));
      }
      band.add(at::IntArrayRef(images).slice(begin, count), at::IntArrayRef(lefts).slice(begin, count),
               network.scores(windows));
    }
    band.add_weights(at::IntArrayRef(lefts).slice(0, in_row));
    const int64_t next = row_end == corners.end() ? network.height : row_end->y;
    take(band.rows(row->y, next - row->y));
    if (row_end != corners.end()) band.drop(next - row->y);
  }
}

}  // namespace tessera
