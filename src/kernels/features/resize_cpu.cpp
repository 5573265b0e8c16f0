#include "kernels/features/resize_cpu.h"

#include <ATen/ATen.h>

#include <vector>

#include "kernels/common/axis.h"
#include "kernels/features/feature_loops.h"
#include "kernels/features/resize_loops.h"
#include "kernels/loss/upsample_bands.h"
#include "tensor/parallel_for.h"

namespace tessera {

TSR_CHOOSE_FEATURE_LOOPS(ResizeLoops, kResize, with_resize_loops)

namespace {

// Whether to use our loops on the tensor, the features or the gradient of what they became: with more pixels after than before.
// libtorch is as good for planes, and better at shrinking, where most of what we mix is not asked for.
bool use_loops(const at::Tensor& x, int64_t low_pixels, int64_t high_pixels) {
  return high_pixels >= low_pixels && can_use_feature_loops(x);
}

// Calls work(row, scratch) for rows [0, rows) on all threads.
template <class T, class Row>
void for_rows(int64_t rows, int64_t values_per_row, int64_t scratch_size, Row&& work) {
  constexpr int64_t kValuesPerTask = 1 << 14;
  parallel_for(0, rows, std::max<int64_t>(1, kValuesPerTask / std::max<int64_t>(values_per_row, 1)),
               [&](int64_t begin, int64_t end) {
                 std::vector<T> scratch(static_cast<size_t>(scratch_size));
                 for (int64_t row = begin; row < end; ++row) work(row, scratch.data());
               });
}

// x resized into `out`, both with their channels side by side.
void resize_into(const at::Tensor& x, const at::Tensor& out, bool align_corners) {
  with_resize_loops(x, [&]<class S>(const ResizeLoops<S>& loops) {
    using T = Compute<S>;
    const Axis<T> rows(x.size(2), out.size(2), align_corners), columns(x.size(3), out.size(3), align_corners);
    const auto* const from = static_cast<const S*>(x.const_data_ptr());
    auto* const to = static_cast<S*>(out.mutable_data_ptr());
    const int64_t height = out.size(2), channels = x.size(1);
    for_rows<T>(out.size(0) * height, out.size(3) * channels, x.size(3) * channels, [&](int64_t row, T* scratch) {
      const int64_t n = row / height, y = row % height;
      const S* const image = from + n * x.stride(0);
      loops.forward({image + rows.first[static_cast<size_t>(y)] * x.stride(2),
                     image + rows.second[static_cast<size_t>(y)] * x.stride(2), rows.weight[static_cast<size_t>(y)],
                     x.stride(3), x.size(3), channels, columns.view(), to + n * out.stride(0) + y * out.stride(2),
                     out.stride(3), out.size(3), scratch});
    });
  });
}

// Which outputs read each input of an axis, and with what weight.
template <class T>
struct Readers {
  Readers(int64_t in, int64_t out, bool align_corners) {
    const AxisRule rule(in, out, align_corners);
    const auto weight_at = [&](int64_t p, int64_t i) {
      const AxisPoint point = rule(i);
      return weight_of(p, point.first, point.second, point.weight);
    };
    for (int64_t p = 0; p < in; ++p) {
      AxisRange range = rule.readers(p);
      while (range.begin < range.end && weight_at(p, range.begin) == 0) ++range.begin;
      while (range.begin < range.end && weight_at(p, range.end - 1) == 0) --range.end;
      begin.push_back(range.begin);
      end.push_back(range.end);
      offset.push_back(static_cast<int64_t>(weight.size()));
      for (int64_t i = range.begin; i < range.end; ++i) weight.push_back(static_cast<T>(weight_at(p, i)));
    }
  }
  ReadersView<T> view() const { return {begin.data(), end.data(), offset.data(), weight.data()}; }

  std::vector<int64_t> begin, end, offset;
  std::vector<T> weight;
};

}  // namespace

at::Tensor resize_bilinear_cpu(const at::Tensor& x, at::IntArrayRef size, bool align_corners) {
  if (!use_loops(x, x.size(2) * x.size(3), size[0] * size[1])) return at::upsample_bilinear2d(x, size, align_corners);
  const at::Tensor out = at::empty({x.size(0), x.size(1), size[0], size[1]}, x.options(), at::MemoryFormat::ChannelsLast);
  resize_into(x, out, align_corners);
  return out;
}

at::Tensor resize_concat_cpu(at::TensorList xs, at::IntArrayRef size, bool align_corners) {
  const at::Tensor out = empty_concat(xs, size);
  int64_t channel = 0;
  for (const at::Tensor& x : xs) {
    const at::Tensor slice = out.narrow(1, channel, x.size(1));
    channel += x.size(1);
    if (x.sizes().slice(2) == size) {
      slice.copy_(x);
    } else if (use_loops(x, x.size(2) * x.size(3), size[0] * size[1]) && slice.stride(1) == 1) {
      resize_into(x, slice, align_corners);
    } else {
      slice.copy_(at::upsample_bilinear2d(x, size, align_corners));
    }
  }
  return out;
}

at::Tensor resize_bilinear_backward_cpu(const at::Tensor& grad_out, at::IntArrayRef size, bool align_corners) {
  const int64_t images = grad_out.size(0), channels = grad_out.size(1), height = size[0], width = size[1];
  const std::vector<int64_t> shape = {images, channels, height, width};
  if (!use_loops(grad_out, height * width, grad_out.size(2) * grad_out.size(3))) {
    return at::upsample_bilinear2d_backward(grad_out, grad_out.sizes().slice(2), shape, align_corners);
  }
  const at::Tensor out = at::empty(shape, grad_out.options(), at::MemoryFormat::ChannelsLast);
  with_resize_loops(grad_out, [&]<class S>(const ResizeLoops<S>& loops) {
    using T = Compute<S>;
    const int64_t out_width = grad_out.size(3);
    const Readers<T> rows(height, grad_out.size(2), align_corners), columns(width, out_width, align_corners);
    const auto* const from = static_cast<const S*>(grad_out.const_data_ptr());
    auto* const to = static_cast<S*>(out.mutable_data_ptr());
    const int64_t cost = 2 * grad_out.size(2) / height * out_width * channels;
    for_rows<T>(images * height, cost, (out_width + 1) * channels, [&](int64_t row, T* scratch) {
      const int64_t n = row / height;
      const auto y = static_cast<size_t>(row % height);
      S* const result = to + row * width * channels;
      if (rows.begin[y] == rows.end[y]) {
        std::fill(result, result + width * channels, S{});
        return;
      }
      loops.backward({from + n * grad_out.stride(0) + rows.begin[y] * grad_out.stride(2), grad_out.stride(2),
                      grad_out.stride(3), out_width, channels, rows.end[y] - rows.begin[y], rows.weight.data() + rows.offset[y],
                      columns.view(), result, width, scratch});
    });
  });
  return out;
}

}  // namespace tessera
