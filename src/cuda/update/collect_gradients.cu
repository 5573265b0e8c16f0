#include <ATen/Dispatch.h>

#include "cuda/common/launch.h"
#include "cuda/common/pack.h"

namespace tessera {
namespace {

constexpr int kCollectThreads = 256;
constexpr int kRounds = 4;        // vectors that each thread moves
constexpr int kMostPieces = 100;  // of one launch: the table travels with it, in at most 4 KB
constexpr int kVectorValues = 4;

struct Piece {
  const void* from;
  int64_t offset, numel;
  int first_block;
  bool aligned;
};
struct Pieces {
  Piece piece[kMostPieces];
  int count;
};

// Blocks share out the pieces in order; each moves one stretch of one piece.
template <class T, class S>
__global__ void __launch_bounds__(kCollectThreads) collect_kernel(T* arena, const __grid_constant__ Pieces pieces, bool add) {
  constexpr int64_t kStretch = kCollectThreads * kRounds * kVectorValues;
  int low = 0;
  for (int high = pieces.count - 1; low < high;) {  // the last piece that begins at or before this block
    const int middle = (low + high + 1) / 2;
    if (pieces.piece[middle].first_block <= static_cast<int>(blockIdx.x)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  const Piece& piece = pieces.piece[low];
  const S* const from = static_cast<const S*>(piece.from);
  T* const to = arena + piece.offset;
  const int64_t begin = (static_cast<int64_t>(blockIdx.x) - piece.first_block) * kStretch + threadIdx.x * kVectorValues;
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    const int64_t at = begin + round * kCollectThreads * kVectorValues;
    if (piece.aligned && at + kVectorValues <= piece.numel) {
      const Pack<S, kVectorValues> in = load_pack<kVectorValues>(from + at);
      Pack<T, kVectorValues> out{};
      if (add) out = load_pack<kVectorValues>(to + at);
      for (int i = 0; i < kVectorValues; ++i) out.value[i] += static_cast<T>(in.value[i]);
      store_pack(to + at, out);
      continue;
    }
    const int64_t end = at + kVectorValues < piece.numel ? at + kVectorValues : piece.numel;
    for (int64_t i = at; i < end; ++i) to[i] = (add ? to[i] : T(0)) + static_cast<T>(from[i]);
  }
}

template <class T, class S>
void collect(const at::Tensor& arena, at::TensorList gradients, at::IntArrayRef offsets, bool add) {
  constexpr int64_t kStretch = kCollectThreads * kRounds * kVectorValues;
  T* const to = arena.mutable_data_ptr<T>();
  Pieces pieces{};
  int blocks = 0;
  const auto flush = [&] {
    if (pieces.count > 0) launch(collect_kernel<T, S>, static_cast<unsigned>(blocks), kCollectThreads, 0, to, pieces, add);
    pieces.count = 0;
    blocks = 0;
  };
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].scalar_type() != at::CppTypeToScalarType<S>::value || gradients[i].numel() == 0) continue;
    const void* const from = gradients[i].const_data_ptr();
    const bool aligned = is_aligned(from, kVectorValues * sizeof(S)) && is_aligned(to + offsets[i], kVectorValues * sizeof(T));
    pieces.piece[pieces.count++] = {from, offsets[i], gradients[i].numel(), blocks, aligned};
    blocks += static_cast<int>((gradients[i].numel() + kStretch - 1) / kStretch);
    if (pieces.count == kMostPieces) flush();
  }
  flush();
}

void collect_gradients_cuda(at::Tensor arena, at::TensorList gradients, at::IntArrayRef offsets, bool add) {
  const DeviceGuard guard(arena.device());
  AT_DISPATCH_FLOATING_TYPES(arena.scalar_type(), "collect_gradients", [&] {
    collect<scalar_t, scalar_t>(arena, gradients, offsets, add);
    collect<scalar_t, at::BFloat16>(arena, gradients, offsets, add);
    collect<scalar_t, at::Half>(arena, gradients, offsets, add);
  });
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("collect_gradients", collect_gradients_cuda);
}

}  // namespace tessera
