#include "weights/formats/pickle_parts.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"

namespace tessera {
namespace {

template <class T>
double number_in(const std::string& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return static_cast<double>(value);
}

}  // namespace

const PickleValue& item(const PickleValue& args, size_t index, PickleKind kind, const char* what, const std::string& file) {
  TSR_CHECK(index < args.items.size() && args.items[index]->kind == kind, "{}: broken pickle: {}", file, what);
  return *args.items[index];
}

std::vector<int64_t> whole_numbers(const PickleValue& tuple, const char* what, const std::string& file) {
  TSR_CHECK(tuple.items.size() <= kMostAxes, "{}: a tensor with {} axes", file, tuple.items.size());
  std::vector<int64_t> numbers;
  for (const PickleValue* one : tuple.items) {
    TSR_CHECK(one->is(PickleKind::kInt) && one->text.empty() && one->integer >= 0 && one->integer <= kLargestCount,
              "{}: a tensor with an impossible {}", file, what);
    numbers.push_back(one->integer);
  }
  return numbers;
}

void become_opaque(PickleValue& value, const std::string& what) {
  value.kind = PickleKind::kOpaque;
  value.text = what;
}

void fill_array(PickleValue& array, const PickleValue& shape, const PickleValue& dtype, bool fortran, const PickleValue& data,
                const std::string& file) {
  const auto type = dtype.is(PickleKind::kDtype) ? element_of_numpy(dtype.text) : std::nullopt;
  const bool raw = data.is(PickleKind::kBytes) || data.is(PickleKind::kString);
  if (!type || !raw || !shape.is(PickleKind::kTuple)) return become_opaque(array, "numpy.ndarray of " + dtype.text);
  array.kind = PickleKind::kTensor;
  array.tensor = std::make_unique<TensorRef>();
  TensorRef& tensor = *array.tensor;
  tensor.type = *type;
  tensor.data = &data;
  tensor.storage_bytes = static_cast<int64_t>(data.text.size());
  tensor.sizes = whole_numbers(shape, "shape", file);
  tensor.strides.resize(tensor.sizes.size());
  int64_t stride = 1;
  for (size_t i = 0; i < tensor.sizes.size(); ++i) {
    const size_t axis = fortran ? i : tensor.sizes.size() - 1 - i;
    tensor.strides[axis] = stride;
    TSR_CHECK(tensor.sizes[axis] == 0 || stride <= kLargestCount / tensor.sizes[axis], "{}: an array with an impossible shape",
              file);
    stride *= std::max<int64_t>(tensor.sizes[axis], 1);
  }
}

void numpy_scalar(PickleValue& made, const PickleValue& args, const std::string& file) {
  const PickleValue& dtype = item(args, 0, PickleKind::kDtype, "a NumPy scalar without type", file);
  const auto type = element_of_numpy(dtype.text);
  const std::string* bytes = args.items.size() > 1 ? &args.items[1]->text : nullptr;
  if (!type || bytes == nullptr || bytes->size() != size_of(*type)) return become_opaque(made, "numpy scalar of " + dtype.text);
  made.kind = PickleKind::kFloat;
  switch (*type) {
    case Element::kFloat64: made.real = number_in<double>(*bytes); return;
    case Element::kFloat32: made.real = number_in<float>(*bytes); return;
    case Element::kInt64:
    case Element::kInt32:
    case Element::kInt16:
    case Element::kInt8:
    case Element::kUInt8:
    case Element::kBool: {
      made.kind = *type == Element::kBool ? PickleKind::kBool : PickleKind::kInt;
      const bool negative = *type != Element::kUInt8 && (bytes->back() & 0x80) != 0;
      uint64_t bits = negative ? ~uint64_t{0} : 0;
      std::memcpy(&bits, bytes->data(), bytes->size());
      made.integer = static_cast<int64_t>(bits);
      return;
    }
    default: become_opaque(made, "numpy scalar of " + dtype.text);
  }
}

void encode_latin1(PickleValue& made, const PickleValue& args, const std::string& file) {
  const std::string& text = item(args, 0, PickleKind::kString, "_codecs.encode without text", file).text;
  made.kind = PickleKind::kBytes;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto first = static_cast<uint8_t>(text[i]);
    if (first < 0x80) {
      made.text.push_back(text[i]);
      continue;
    }
    TSR_CHECK((first == 0xC2 || first == 0xC3) && i + 1 < text.size() && (text[i + 1] & 0xC0) == 0x80,
              "{}: broken pickle: bytes that are no Latin-1 text", file);
    made.text.push_back(static_cast<char>((first << 6) | (text[++i] & 0x3F)));
  }
}

}  // namespace tessera
