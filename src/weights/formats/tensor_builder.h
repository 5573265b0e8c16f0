#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "core/element_type.h"
#include "storage/blob.h"

namespace tessera {

at::ScalarType scalar_type(Element type);
Element element_type(at::ScalarType type);  // throws Error for types that weight files cannot hold

// Makes tensors over the bytes of one file. Contiguous, aligned windows lie on the bytes themselves and keep them alive;
// others are copied, and all copies together may not be many times the file (a stride of 0 makes much out of little).
class TensorBuilder {
 public:
  TensorBuilder(std::string name, size_t file_bytes) : name_(std::move(name)), copies_left_((64 << 20) + 4 * file_bytes) {}

  // The window must lie in the storage: the parsers have checked that.
  at::Tensor make(const Blob& storage, Element type, int64_t offset, const std::vector<int64_t>& sizes,
                  const std::vector<int64_t>& strides, const std::string& key);
  at::Tensor make(const Blob& storage, Element type, const std::vector<int64_t>& sizes, const std::string& key);

 private:
  std::string name_;
  size_t copies_left_;
};

}  // namespace tessera
