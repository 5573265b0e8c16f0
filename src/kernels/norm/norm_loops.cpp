// Compiled once per instruction set, see CMakeLists.txt: TSR_SIMD names the set.
#include "kernels/norm/norm_lanes.h"

namespace tessera::TSR_SIMD {
namespace {

// Vectors that are summed side by side: as many as the registers hold.
constexpr int kMomentVectors = kVectorBytes == 64 ? 8 : 4;
constexpr int kSumVectors = kVectorBytes == 64 ? 4 : 2;

template <class T, class Call>
TSR_INLINE void with_type(NormType type, Call&& call) {
  if constexpr (std::is_same_v<T, float>) {
    if (type == NormType::kBFloat16) return call(BFloat16Bits{});
  }
  call(T{});
}

// A table's numbers at `column`; those of one channel are all the same.
template <class T>
TSR_INLINE V<T, kLanes<T>> entry(const NormTile<T>& tile, const T* table, int64_t column) {
  return tile.channels == 1 ? V<T, kLanes<T>>{} + table[0] : load<T, kLanes<T>>(table + column);
}

// Numbers per column, to be added up per channel. Where rows are taken one by one a column is a channel
// and its numbers go straight to their place.
template <class T>
class Columns {
 public:
  explicit Columns(const NormTile<T>& tile) : tile_(tile) {}
  TSR_INLINE void put(int64_t column, V<T, kLanes<T>> first, V<T, kLanes<T>> second) {
    const bool direct = tile_.width == tile_.channels;
    double *to_first = direct ? tile_.first : first_, *to_second = direct ? tile_.second : second_;
    for (int i = 0; i < kLanes<T>; ++i) {
      to_first[column + i] = static_cast<double>(first[i]);
      to_second[column + i] = static_cast<double>(second[i]);
    }
  }
  void finish() {
    if (tile_.width == tile_.channels) return;
    for (int64_t c = 0; c < tile_.channels; ++c) {
      double first = 0, second = 0;
      for (int64_t j = c; j < tile_.width; j += tile_.channels) first += first_[j], second += second_[j];
      tile_.first[c] = first;
      tile_.second[c] = second;
    }
  }

 private:
  const NormTile<T>& tile_;
  double first_[kLongest<T>], second_[kLongest<T>];
};

// Values are taken relative to the first one of their channel: sums of squares then cannot cancel by more than the number of
// rows, whatever the mean.
template <class T, class S>
void moments_of(const NormTile<T>& tile) {
  constexpr int L = kLanes<T>;
  alignas(64) T start[kLongest<T>];
  const bool single = tile.width == tile.channels;
  const auto* x = static_cast<const S*>(tile.x);
  if (!single) {
    for (int64_t j = 0; j < tile.width; ++j) start[j] = read_one<T>(x + j % tile.channels);
  }
  Columns<T> columns(tile);
  for_each_block<kMomentVectors>(tile, [&](auto count, int64_t column) {
    constexpr int N = count;
    V<T, L> origin[N], sum[N] = {}, squares[N] = {};
    for (int i = 0; i < N; ++i) {
      origin[i] = single ? Span<T, S>{column + i * L, L}.of(x) : load<T, L>(start + column + i * L);
    }
    for_each_row<N, T, S>(tile, column, [&](int i, Span<T, S> span) TSR_INLINE_LAMBDA {
      const V<T, L> d = span.of(x, origin[i]) - origin[i];
      sum[i] += d;
      squares[i] += d * d;
    });
    for (int i = 0; i < N; ++i) columns.put(column + i * L, sum[i], squares[i]);
  });
  columns.finish();
  const auto rows = static_cast<double>(tile.rows);
  for (int64_t c = 0; c < tile.channels; ++c) {
    const double origin = static_cast<double>(read_one<T>(x + c)), mean = tile.first[c] / rows;
    const double deviations = tile.second[c] - tile.first[c] * mean;
    tile.first[c] = origin + mean;
    tile.second[c] = deviations < 0 ? 0 : deviations;  // a NaN stays
  }
}

template <class T>
TSR_INLINE V<T, kLanes<T>> cut(V<T, kLanes<T>> v) {
  return v < 0 ? V<T, kLanes<T>>{} : v;  // a NaN stays
}

template <bool kResidual, bool kRelu, class T, class S>
void apply_to(const NormTile<T>& tile) {
  for_each_vector<T, S>(tile, [&](Span<T, S> span, int64_t column) TSR_INLINE_LAMBDA {
    auto v = (span.of(tile.x) - entry(tile, tile.centre, column)) * entry(tile, tile.scale, column) +
             entry(tile, tile.shift, column);
    if constexpr (kResidual) v += span.of(tile.residual);
    span.put(tile.out, kRelu ? cut<T>(v) : v);
  });
}

// Where grad_out counts: everywhere, or where v or the output is above 0.
enum class Gate { kOpen, kRecomputed, kOutput };

template <Gate kGate, class T, class S>
void sums_of(const NormTile<T>& tile) {
  constexpr int L = kLanes<T>;
  Columns<T> columns(tile);
  for_each_block<kSumVectors>(tile, [&](auto count, int64_t column) {
    constexpr int N = count;
    V<T, L> centre[N], scale[N], shift[N], sum[N] = {}, dot[N] = {};
    for (int i = 0; i < N; ++i) {
      centre[i] = entry(tile, tile.centre, column + i * L);
      scale[i] = entry(tile, tile.scale, column + i * L);
      shift[i] = entry(tile, tile.shift, column + i * L);
    }
    for_each_row<N, T, S>(tile, column, [&](int i, Span<T, S> span) TSR_INLINE_LAMBDA {
      const V<T, L> d = span.of(tile.x) - centre[i];
      V<T, L> g = span.of(tile.grad_out);
      if constexpr (kGate == Gate::kRecomputed) g = d * scale[i] + shift[i] <= 0 ? V<T, L>{} : g;
      if constexpr (kGate == Gate::kOutput) {
        g = span.of(tile.y) <= 0 ? V<T, L>{} : g;
        span.put(tile.out, g);
      }
      sum[i] += g;
      dot[i] += g * d;
    });
    for (int i = 0; i < N; ++i) columns.put(column + i * L, sum[i], dot[i]);
  });
  columns.finish();
}

template <Gate kGate, class T, class S>
void backward_of(const NormTile<T>& tile) {
  for_each_vector<T, S>(tile, [&](Span<T, S> span, int64_t column) TSR_INLINE_LAMBDA {
    const auto d = span.of(tile.x) - entry(tile, tile.centre, column);
    auto g = span.of(tile.grad_out);
    if constexpr (kGate == Gate::kRecomputed) {
      g = d * entry(tile, tile.scale, column) + entry(tile, tile.shift, column) <= 0 ? V<T, kLanes<T>>{} : g;
    }
    span.put(tile.out,
             entry(tile, tile.of_grad, column) * g + entry(tile, tile.of_x, column) * d + entry(tile, tile.constant, column));
  });
}

template <class T>
void moments(const NormTile<T>& tile) {
  with_type<T>(tile.type, [&](auto zero) { moments_of<T, decltype(zero)>(tile); });
}
template <class T>
void apply(const NormTile<T>& tile) {
  with_type<T>(tile.type, [&](auto zero) {
    using S = decltype(zero);
    if (tile.residual != nullptr) return tile.relu ? apply_to<true, true, T, S>(tile) : apply_to<true, false, T, S>(tile);
    tile.relu ? apply_to<false, true, T, S>(tile) : apply_to<false, false, T, S>(tile);
  });
}
template <class T>
void sums(const NormTile<T>& tile) {
  with_type<T>(tile.type, [&](auto zero) {
    using S = decltype(zero);
    if (!tile.relu) return sums_of<Gate::kOpen, T, S>(tile);
    tile.y != nullptr ? sums_of<Gate::kOutput, T, S>(tile) : sums_of<Gate::kRecomputed, T, S>(tile);
  });
}
template <class T>
void backward(const NormTile<T>& tile) {
  with_type<T>(tile.type, [&](auto zero) {
    using S = decltype(zero);
    tile.relu ? backward_of<Gate::kRecomputed, T, S>(tile) : backward_of<Gate::kOpen, T, S>(tile);
  });
}

}  // namespace

extern const NormLoops<float> kNormLoopsFloat;
extern const NormLoops<double> kNormLoopsDouble;
constinit const NormLoops<float> kNormLoopsFloat{norm_width<float>, moments<float>, apply<float>, sums<float>, backward<float>};
constinit const NormLoops<double> kNormLoopsDouble{norm_width<double>, moments<double>, apply<double>, sums<double>,
                                                   backward<double>};

}  // namespace tessera::TSR_SIMD
