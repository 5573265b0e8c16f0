#include "kernels/fused.h"

#include <cstdlib>
#include <string_view>

namespace tessera {

bool takes_fused_kernels(const at::Tensor& x) {
  static const bool on_gpu = [] {
    const char* const wish = std::getenv("TESSERA_CUDA_KERNELS");
    return wish != nullptr && std::string_view(wish) == "1";
  }();
  return x.is_cpu() || (x.is_cuda() && on_gpu);
}

}  // namespace tessera
