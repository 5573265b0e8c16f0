#include "weights/formats/npz.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/npy_header.h"
#include "storage/zip.h"
#include "storage/zip_writer.h"
#include "weights/formats/tensor_builder.h"

namespace tessera {
namespace {

constexpr std::string_view kSuffix = ".npy";
constexpr size_t kAlignment = 64;  // of the data, as NumPy aligns it

at::Tensor load_array(const Blob& file, const std::string& name, TensorBuilder& builder) {
  const NpyHeader header = parse_npy_header(file.bytes, name);
  return builder.make(file.part(header.offset, header.bytes), header.type, 0, header.sizes, header.strides, name);
}

std::string npy_header(const at::Tensor& tensor, const std::string& name) {
  const std::string_view word = names_of(element_type(tensor.scalar_type())).numpy;
  TSR_CHECK(!word.empty() && word != "V2", "{}: NumPy has no type {}; convert to float32 first or write safetensors", name,
            at::toString(tensor.scalar_type()));
  const auto sizes = tensor.sizes().vec();
  std::string header =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}", tensor.element_size() == 1 ? '|' : '<',
                  word, fmt::join(sizes, ", "), sizes.size() == 1 ? "," : "");
  constexpr size_t kFront = 10;  // magic, version, length
  header.resize((kFront + header.size() + 1 + kAlignment - 1) / kAlignment * kAlignment - kFront - 1, ' ');
  header.push_back('\n');
  std::string out = "\x93NUMPY";
  out.push_back(1);
  out.push_back(0);
  out.push_back(static_cast<char>(header.size() & 0xFF));
  out.push_back(static_cast<char>(header.size() >> 8));
  return out + header;
}

}  // namespace

LoadedFile load_npy(const Blob& file, const std::string& name) {
  TensorBuilder builder(name, file.size());
  LoadedFile out{name, "npy", {}, {}, {}, {""}};
  out.tensors.emplace_back("array", load_array(file, name, builder));
  return out;
}

LoadedFile load_npz(const Blob& file, const std::string& name) {
  Zip zip(file, name);
  TensorBuilder builder(name, file.size());
  LoadedFile out{name, "npz", {}, {}, {}, {""}};
  for (const ZipEntry& entry : zip.entries()) {
    if (!entry.name.ends_with(kSuffix)) continue;
    const std::string key = entry.name.substr(0, entry.name.size() - kSuffix.size());
    out.tensors.emplace_back(key, load_array(zip.read(entry), name + ": array '" + key + "'", builder));
  }
  return out;
}

std::vector<uint8_t> encode_npy(const at::Tensor& tensor, const std::string& name) {
  const at::Tensor plain = tensor.cpu().contiguous();
  const std::string header = npy_header(plain, name);
  std::vector<uint8_t> content(header.begin(), header.end());
  const auto* data = static_cast<const uint8_t*>(plain.const_data_ptr());
  if (plain.nbytes() > 0) content.insert(content.end(), data, data + plain.nbytes());
  return content;
}

std::vector<uint8_t> encode_npz(const NamedTensors& tensors) {
  ZipWriter zip;
  for (const auto& [key, tensor] : tensors) zip.add(key + std::string(kSuffix), encode_npy(tensor, key), kAlignment);
  return zip.finish();
}

}  // namespace tessera
