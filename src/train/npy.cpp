#include "train/npy.h"

#include <fmt/format.h>
#include <torch/types.h>

#include <cstring>
#include <string>

namespace tessera {

std::vector<uint8_t> encode_npy(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.cpu().to(at::kFloat).contiguous();
  std::string shape;
  for (const int64_t side : plain.sizes()) shape += fmt::format("{},", side);
  std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", shape);
  constexpr size_t kPreamble = 10, kAlignment = 64;
  header.resize((header.size() + 1 + kPreamble + kAlignment - 1) / kAlignment * kAlignment - kPreamble - 1, ' ');
  header += '\n';
  std::string start("\x93NUMPY\x01\x00", 8);
  start += static_cast<char>(header.size() & 0xFF);
  start += static_cast<char>(header.size() >> 8);
  start += header;
  std::vector<uint8_t> file(start.size() + plain.nbytes());
  std::memcpy(file.data(), start.data(), start.size());
  if (plain.nbytes() > 0) std::memcpy(file.data() + start.size(), plain.const_data_ptr(), plain.nbytes());
  return file;
}

}  // namespace tessera
