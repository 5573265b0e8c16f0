#include "weights/formats/pth.h"

#include "weights/formats/pth_file.h"
#include "weights/formats/tensor_builder.h"

namespace tessera {

LoadedFile load_pth(const Blob& file, const std::string& name) {
  PthFile parsed = parse_pth(file, name);
  LoadedFile out{name, "pth", {}, std::move(parsed.metadata), std::move(parsed.opaque), std::move(parsed.groups)};
  TensorBuilder builder(name, file.size());
  for (const PthFile::Entry& entry : parsed.tensors) {
    const TensorRef& tensor = entry.tensor;
    out.tensors.emplace_back(entry.key,
                             builder.make(entry.storage, tensor.type, tensor.offset, tensor.sizes, tensor.strides, entry.key));
  }
  return out;
}

}  // namespace tessera
