#include "kernels/common/fused.h"

#include <cstdlib>
#include <string_view>

namespace tessera {
namespace {

thread_local int transformer_guards = 0;

}  // namespace

bool use_fused(const at::Tensor& x) {
  static const bool on_gpu = [] {
    const char* const wish = std::getenv("TESSERA_CUDA_KERNELS");
    return wish == nullptr || std::string_view(wish) != "0";
  }();
  return x.is_cpu() || (x.is_cuda() && on_gpu);
}

bool use_fused_transformer(const at::Tensor& x) {
  return use_fused(x) && (!x.is_cpu() || transformer_guards > 0);
}

FusedTransformerGuard::FusedTransformerGuard() {
  ++transformer_guards;
}
FusedTransformerGuard::~FusedTransformerGuard() {
  --transformer_guards;
}

}  // namespace tessera
