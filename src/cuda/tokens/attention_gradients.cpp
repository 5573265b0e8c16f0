// attention_gradients by cuDNN's graphs of operations, see kernels/tokens/attention_backend.h.
#include <ATen/cudnn/Handle.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/library.h>

#include <cmath>
#include <map>
#include <memory>

#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>

namespace tessera {
namespace {

namespace fe = cudnn_frontend;

enum Uid : int64_t { kQ = 1, kK, kV, kOut, kGradOut, kLogSums, kGradQ, kGradK, kGradV };

struct Shape {
  c10::DeviceIndex device;
  at::ScalarType type;
  int64_t samples, heads, tokens, width;
  bool fixed_order;
  auto operator<=>(const Shape&) const = default;

  // (N, heads, T, d) of tensors that hold `parts` such values for each token.
  std::vector<int64_t> sizes() const { return {samples, heads, tokens, width}; }
  std::vector<int64_t> strides(int64_t parts) const {
    return {tokens * parts * heads * width, width, parts * heads * width, 1};
  }
};

// Null where this cuDNN or this GPU has no such kernel.
std::shared_ptr<fe::graph::Graph> build(const Shape& shape, cudnnHandle_t handle) {
  auto graph = std::make_shared<fe::graph::Graph>();
  graph->set_io_data_type(shape.type == at::kHalf ? fe::DataType_t::HALF : fe::DataType_t::BFLOAT16)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  const auto tensor = [&](Uid uid, int64_t parts) {
    return graph->tensor(fe::graph::Tensor_attributes().set_uid(uid).set_dim(shape.sizes()).set_stride(shape.strides(parts)));
  };
  const auto log_sums = graph->tensor(fe::graph::Tensor_attributes()
                                          .set_uid(kLogSums)
                                          .set_dim({shape.samples, shape.heads, shape.tokens, 1})
                                          .set_stride({shape.heads * shape.tokens, shape.tokens, 1, 1})
                                          .set_data_type(fe::DataType_t::FLOAT));
  const auto options = fe::graph::SDPA_backward_attributes()
                           .set_name("attention")
                           .set_attn_scale(1.0F / std::sqrt(static_cast<float>(shape.width)))
                           .set_deterministic_algorithm(shape.fixed_order);
  auto gradients = graph->sdpa_backward(tensor(kQ, 3), tensor(kK, 3), tensor(kV, 3), tensor(kOut, 1), tensor(kGradOut, 1),
                                        log_sums, options);
  for (size_t i = 0; i < 3; ++i)
    gradients[i]
        ->set_output(true)
        .set_uid(kGradQ + static_cast<int64_t>(i))
        .set_dim(shape.sizes())
        .set_stride(shape.strides(3));
  return graph->build(handle, {fe::HeurMode_t::A}).is_good() ? graph : nullptr;
}

// Plans belong to a thread, as libtorch's do: cuDNN does not promise that threads can share one.
std::shared_ptr<fe::graph::Graph> plan(const Shape& shape, cudnnHandle_t handle) {
  static thread_local std::map<Shape, std::shared_ptr<fe::graph::Graph>> plans;
  const auto found = plans.find(shape);
  return found != plans.end() ? found->second : plans.emplace(shape, build(shape, handle)).first->second;
}

at::Tensor attention_gradients_cuda(const at::Tensor& grad_out, const at::Tensor& qkv, const at::Tensor& out,
                                    const at::Tensor& log_sums, int64_t heads, bool fixed_order) {
  const c10::cuda::CUDAGuard guard(qkv.device());
  const int64_t width = qkv.size(2) / (3 * heads);
  const Shape shape{qkv.device().index(), qkv.scalar_type(), qkv.size(0), heads, qkv.size(1), width, fixed_order};
  cudnnHandle_t handle = at::native::getCudnnHandle();
  const auto graph = plan(shape, handle);
  if (graph == nullptr) return {};
  const at::Tensor grad_qkv = at::empty_like(qkv);
  const at::Tensor workspace = at::empty({graph->get_workspace_size()}, qkv.options().dtype(at::kByte));
  const auto part = [&](const at::Tensor& whole, int64_t i) {
    return static_cast<void*>(static_cast<char*>(whole.data_ptr()) + i * heads * width * whole.element_size());
  };
  std::unordered_map<int64_t, void*> places{{kQ, part(qkv, 0)},
                                            {kK, part(qkv, 1)},
                                            {kV, part(qkv, 2)},
                                            {kOut, out.data_ptr()},
                                            {kGradOut, grad_out.data_ptr()},
                                            {kLogSums, log_sums.data_ptr()},
                                            {kGradQ, part(grad_qkv, 0)},
                                            {kGradK, part(grad_qkv, 1)},
                                            {kGradV, part(grad_qkv, 2)}};
  auto status = graph->execute(handle, places, workspace.data_ptr());
  TORCH_CHECK(status.is_good(), "cuDNN's attention failed: ", status.get_message());
  return grad_qkv;
}

}  // namespace

TORCH_LIBRARY_IMPL(tessera, CUDA, m) {
  m.impl("attention_gradients", attention_gradients_cuda);
}

}  // namespace tessera
