#include "kernels/features/max_pool_cpu.h"

#include <ATen/ATen.h>

#include "kernels/features/feature_loops.h"
#include "kernels/features/max_pool.h"
#include "kernels/features/max_pool_loops.h"
#include "tensor/parallel_for.h"

namespace tessera {

TSR_CHOOSE_FEATURE_LOOPS(MaxPoolLoops, kMaxPool, with_max_pool_loops)

namespace {

// Calls work(n, y) for all rows, on all threads.
template <class Row>
void for_rows(const at::Tensor& out, Row&& work) {
  constexpr int64_t kValuesPerTask = 1 << 14;
  const int64_t height = out.size(2);
  parallel_for(0, out.size(0) * height, std::max<int64_t>(1, kValuesPerTask / (out.size(1) * out.size(3))),
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) work(row / height, row % height);
               });
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> max_pool_cpu(const at::Tensor& x, at::IntArrayRef window, at::IntArrayRef size,
                                                bool with_positions) {
  const int64_t channels = x.size(1);
  const std::vector<int64_t> shape = {x.size(0), channels, size[0], size[1]};
  const at::Tensor out = at::empty(shape, x.options(), at::MemoryFormat::ChannelsLast);
  const at::Tensor positions = with_positions ? at::empty(shape, x.options().dtype(at::kByte), at::MemoryFormat::ChannelsLast)
                                              : at::empty({0}, x.options().dtype(at::kByte));
  const PoolWindows rows{window[0], window[1], window[2], x.size(2), size[0]};
  const PoolWindows columns{window[0], window[1], window[2], x.size(3), size[1]};
  with_max_pool_loops(x, [&]<class S>(const MaxPoolLoops<S>& loops) {
    const auto* const from = static_cast<const S*>(x.const_data_ptr());
    auto* const to = static_cast<S*>(out.mutable_data_ptr());
    uint8_t* const at = with_positions ? positions.mutable_data_ptr<uint8_t>() : nullptr;
    for_rows(out, [&](int64_t n, int64_t y) {
      const int64_t top = rows.begin(y);
      const S* const image = from + n * x.stride(0) + top * x.stride(2);
      for (int64_t c = 0; c < size[1]; ++c) {
        const int64_t left = columns.begin(c), place = ((n * size[0] + y) * size[1] + c) * channels;
        loops.forward({image + left * x.stride(3), x.stride(2), x.stride(3), rows.end(y) - top, columns.end(c) - left,
                       rows.tap(y, top) * rows.kernel + columns.tap(c, left), rows.kernel},
                      channels, to + place, at == nullptr ? nullptr : at + place);
      }
    });
  });
  return {out, positions};
}

at::Tensor max_pool_backward_cpu(const at::Tensor& grad_out, const at::Tensor& positions, at::IntArrayRef window,
                                 at::IntArrayRef size, const std::optional<at::Tensor>& added) {
  const int64_t channels = grad_out.size(1), out_height = grad_out.size(2), out_width = grad_out.size(3);
  const at::Tensor out =
      at::empty({grad_out.size(0), channels, size[0], size[1]}, grad_out.options(), at::MemoryFormat::ChannelsLast);
  const PoolWindows rows{window[0], window[1], window[2], size[0], out_height};
  const PoolWindows columns{window[0], window[1], window[2], size[1], out_width};
  with_max_pool_loops(grad_out, [&]<class S>(const MaxPoolLoops<S>& loops) {
    const auto* const from = static_cast<const S*>(grad_out.const_data_ptr());
    const uint8_t* const at = positions.const_data_ptr<uint8_t>();
    auto* const to = static_cast<S*>(out.mutable_data_ptr());
    for_rows(out, [&](int64_t n, int64_t y) {
      const int64_t above = rows.first(y);
      for (int64_t x = 0; x < size[1]; ++x) {
        const int64_t left = columns.first(x), place = ((n * out_height + above) * out_width + left) * channels;
        loops.backward({from + place, out_width * channels, channels, std::max<int64_t>(rows.last(y) - above + 1, 0),
                        std::max<int64_t>(columns.last(x) - left + 1, 0),
                        rows.tap(above, y) * rows.kernel + columns.tap(left, x), rows.kernel},
                       at + place, rows.stride, channels, to + ((n * size[0] + y) * size[1] + x) * channels);
      }
    });
  });
  return added ? out.add_(*added) : out;
}

}  // namespace tessera
