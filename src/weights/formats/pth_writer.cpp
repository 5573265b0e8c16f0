#include "weights/formats/pth_writer.h"

#include <string_view>

#include "storage/zip_writer.h"
#include "weights/formats/tensor_builder.h"

namespace tessera {
namespace {

constexpr size_t kAlignment = 64;  // of the data, as torch.save aligns it: files can be mapped

// Instructions of pickle protocol 2, as few kinds as the job needs.
class Pickler {
 public:
  std::string out = "\x80\x02";

  void code(char byte) { out.push_back(byte); }
  void global(std::string_view module, std::string_view name) {
    out.append("c").append(module).append("\n").append(name).append("\n");
  }
  void text(std::string_view value) {
    code('X');
    little_endian(value.size(), 4);
    out.append(value);
  }
  void integer(int64_t value) {
    if (value >= 0 && value <= INT32_MAX) {
      code('J');
      little_endian(static_cast<uint64_t>(value), 4);
    } else {
      out.append("\x8a\x08");
      little_endian(static_cast<uint64_t>(value), 8);
    }
  }
  void tuple(at::IntArrayRef values) {
    code('(');
    for (const int64_t value : values) integer(value);
    code('t');
  }
  void ordered_dict() {
    global("collections", "OrderedDict");
    out.append(")R");
  }

 private:
  void little_endian(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) code(static_cast<char>(value >> (8 * i)));
  }
};

// torch._utils._rebuild_tensor_v2(storage, 0, sizes, strides, False, OrderedDict()). Types younger than torch's typed storages
// go through v3: an untyped storage, and the type as a last argument.
void put_tensor(Pickler& pickle, const at::Tensor& tensor, const std::string& key) {
  const ElementNames& names = names_of(element_type(tensor.scalar_type()));
  const bool typed = !names.storage.empty();
  pickle.global("torch._utils", typed ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
  pickle.code('(');
  pickle.code('(');
  pickle.text("storage");
  pickle.global(typed ? "torch" : "torch.storage", typed ? names.storage : "UntypedStorage");
  pickle.text(key);
  pickle.text("cpu");
  pickle.integer(typed ? tensor.numel() : static_cast<int64_t>(tensor.nbytes()));
  pickle.out.append("tQ");
  pickle.integer(0);
  pickle.tuple(tensor.sizes());
  pickle.tuple(tensor.strides());
  pickle.code('\x89');
  pickle.ordered_dict();
  if (!typed) pickle.global("torch", names.dtype);
  pickle.out.append("tR");
}

std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace

std::vector<uint8_t> encode_pth(const NamedTensors& tensors) {
  std::vector<at::Tensor> plain;
  for (const auto& [name, tensor] : tensors) plain.push_back(tensor.cpu().contiguous());
  Pickler pickle;
  pickle.ordered_dict();
  pickle.code('(');
  for (size_t i = 0; i < plain.size(); ++i) {
    pickle.text(tensors[i].first);
    put_tensor(pickle, plain[i], std::to_string(i));
  }
  pickle.out.append("u.");

  ZipWriter zip;
  zip.add("archive/data.pkl", bytes_of(pickle.out), kAlignment);
  zip.add("archive/byteorder", bytes_of("little"), kAlignment);
  for (size_t i = 0; i < plain.size(); ++i) {
    const auto* data = static_cast<const uint8_t*>(plain[i].const_data_ptr());
    zip.add("archive/data/" + std::to_string(i), {data, plain[i].nbytes()}, kAlignment);
  }
  zip.add("archive/version", bytes_of("3\n"), kAlignment);
  return zip.finish();
}

}  // namespace tessera
