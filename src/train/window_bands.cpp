#include "train/window_bands.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace tessera {
namespace {

// The weighted sums of the rows that a row of windows touches, and the weights' own.
class Band {
 public:
  Band(int64_t images, Size window, int64_t width, const WindowConfig& config)
      : images_(images), window_(window), width_(width), host_weights_(window_weights(window, config.weights)) {}

  void add(int64_t image, int64_t x, const at::Tensor& scores) {
    if (!sum_.defined()) {
      weights_ = host_weights_.to(scores.device());
      const auto options = scores.options().memory_format(std::nullopt);
      sum_ = at::zeros({images_, scores.size(1), window_.height, width_}, options);
      total_ = at::zeros({images_, 1, window_.height, width_}, weights_.options());
    }
    cut(sum_, image, x).add_(scores * weights_);
    cut(total_, image, x).add_(weights_);
  }

  // The first `rows` rows, which then make room.
  at::Tensor take(int64_t rows) {
    const at::Tensor result = sum_.narrow(2, 0, rows) / total_.narrow(2, 0, rows);
    for (at::Tensor* kept : {&sum_, &total_}) {
      const at::Tensor rest = kept->narrow(2, rows, window_.height - rows).clone();
      kept->narrow(2, 0, rest.size(2)).copy_(rest);
      kept->narrow(2, rest.size(2), rows).zero_();
    }
    return result;
  }

 private:
  at::Tensor cut(const at::Tensor& from, int64_t image, int64_t x) const {
    return from.narrow(0, image, 1).narrow(3, x, window_.width);
  }

  int64_t images_;
  Size window_;
  int64_t width_;
  at::Tensor host_weights_, weights_, sum_, total_;
};

}  // namespace

void average_windows(const WindowNetwork& network, const WindowConfig& config,
                     const std::function<void(int64_t, const at::Tensor&)>& take) {
  const Size size{static_cast<int>(std::min<int64_t>(config.size.height, network.height)),
                  static_cast<int>(std::min<int64_t>(config.size.width, network.width))};
  const auto corners = window_corners({static_cast<int>(network.height), static_cast<int>(network.width)}, size, config.stride);
  Band band(network.images, size, network.width, config);
  for (auto row = corners.begin(), row_end = row; row != corners.end(); row = row_end) {
    row_end = std::find_if(row, corners.end(), [&](const WindowCorner& corner) { return corner.y != row->y; });
    std::vector<std::pair<int64_t, WindowCorner>> jobs;
    for (int64_t n = 0; n < network.images; ++n) {
      for (auto corner = row; corner != row_end; ++corner) jobs.emplace_back(n, *corner);
    }
    for (size_t begin = 0; begin < jobs.size(); begin += static_cast<size_t>(config.batch)) {
      const size_t end = std::min(jobs.size(), begin + static_cast<size_t>(config.batch));
      std::vector<at::Tensor> windows;
      for (size_t i = begin; i < end; ++i) windows.push_back(network.cut(jobs[i].first, jobs[i].second, size));
      const at::Tensor scores = network.scores(at::cat(windows));
      for (size_t i = begin; i < end; ++i) {
        band.add(jobs[i].first, jobs[i].second.x, scores.narrow(0, static_cast<int64_t>(i - begin), 1));
      }
    }
    const int64_t next = row_end == corners.end() ? network.height : row_end->y;
    take(row->y, band.take(next - row->y));
  }
}

}  // namespace tessera
