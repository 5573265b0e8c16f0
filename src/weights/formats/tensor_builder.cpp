#include "weights/formats/tensor_builder.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/ne.h>

#include <array>
#include <cstring>

#include "core/error.h"

namespace tessera {
namespace {

constexpr std::array<at::ScalarType, kElements.size()> kTypes{
    at::kDouble, at::kFloat, at::kHalf,          at::kBFloat16,    at::kLong,   at::kInt,    at::kShort, at::kChar,
    at::kByte,   at::kBool,  at::kFloat8_e4m3fn, at::kFloat8_e5m2, at::kUInt16, at::kUInt32, at::kUInt64};

std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= sizes[i];
  }
  return strides;
}

bool same_layout(const std::vector<int64_t>& sizes, const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != 1 && a[i] != b[i]) return false;
  }
  return true;
}

}  // namespace

at::ScalarType scalar_type(Element type) {
  return kTypes[static_cast<size_t>(type)];
}

Element element_type(at::ScalarType type) {
  for (size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i] == type) return kElements[i].type;
  }
  fail("tensors of type {} cannot be stored in a weight file", at::toString(type));
}

at::Tensor TensorBuilder::make(const Blob& storage, Element type, int64_t offset, const std::vector<int64_t>& sizes,
                               const std::vector<int64_t>& strides, const std::string& key) {
  // Files may hold other bytes than 0 and 1 for bools, which no C++ bool may have: read as numbers.
  const at::ScalarType stored = type == Element::kBool ? at::kByte : scalar_type(type);
  int64_t count = 1, span = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    count *= sizes[i];
    span += (sizes[i] - 1) * strides[i];
  }
  if (count == 0) return at::empty(sizes, at::TensorOptions(scalar_type(type)));
  const size_t size = size_of(type);
  const std::vector<int64_t> plain = contiguous_strides(sizes);
  const bool contiguous = same_layout(sizes, strides, plain);
  auto* data = const_cast<uint8_t*>(storage.bytes.data()) + static_cast<size_t>(offset) * size;
  const bool aligned = reinterpret_cast<uintptr_t>(data) % size == 0;
  at::Tensor tensor;
  if (contiguous && aligned && type != Element::kBool) {
    return at::from_blob(
        data, sizes, plain, [owner = storage.owner](void*) {}, at::TensorOptions(stored));
  }
  const size_t cost = static_cast<size_t>(count) * size + (aligned ? 0 : static_cast<size_t>(span) * size);
  TSR_CHECK(cost <= copies_left_, "{}: tensor '{}' and those before it repeat their storage to {} bytes and more; not trusted",
            name_, key, cost);
  copies_left_ -= cost;
  if (aligned) {
    tensor = at::from_blob(data, sizes, strides, at::TensorOptions(stored)).clone(at::MemoryFormat::Contiguous);
  } else {
    at::Tensor copy = at::empty({span}, at::TensorOptions(stored));
    std::memcpy(copy.mutable_data_ptr(), data, static_cast<size_t>(span) * size);
    tensor = contiguous ? copy.view(sizes) : copy.as_strided(sizes, strides).clone(at::MemoryFormat::Contiguous);
  }
  return type == Element::kBool ? tensor.ne(0) : tensor;
}

at::Tensor TensorBuilder::make(const Blob& storage, Element type, const std::vector<int64_t>& sizes, const std::string& key) {
  return make(storage, type, 0, sizes, contiguous_strides(sizes), key);
}

}  // namespace tessera
