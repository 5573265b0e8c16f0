#include "weights/formats/pickle_globals.h"

#include <array>
#include <string_view>
#include <unordered_map>

#include "core/error.h"
#include "weights/formats/pickle_parts.h"

namespace tessera {
namespace {

const std::unordered_map<std::string, Known>& table() {
  static const std::unordered_map<std::string, Known> known{
      {"collections.OrderedDict", Known::kDict},
      {"collections.defaultdict", Known::kDict},
      {"collections.Counter", Known::kDict},
      {"argparse.Namespace", Known::kDict},
      {"types.SimpleNamespace", Known::kDict},
      {"builtins.dict", Known::kDict},
      {"__builtin__.dict", Known::kDict},
      {"builtins.set", Known::kList},
      {"__builtin__.set", Known::kList},
      {"builtins.frozenset", Known::kList},
      {"builtins.list", Known::kList},
      {"__builtin__.list", Known::kList},
      {"builtins.tuple", Known::kList},
      {"builtins.bytearray", Known::kFirst},
      {"builtins.int", Known::kFirst},
      {"builtins.float", Known::kFirst},
      {"builtins.str", Known::kFirst},
      {"builtins.bool", Known::kFirst},
      {"torch.Size", Known::kFirst},
      {"torch.device", Known::kFirst},
      {"torch._utils._rebuild_parameter", Known::kFirst},
      {"torch._utils._rebuild_parameter_with_state", Known::kFirst},
      {"torch._utils._rebuild_tensor", Known::kRebuildTensor},
      {"torch._utils._rebuild_tensor_v2", Known::kRebuildTensor},
      {"torch._utils._rebuild_tensor_v3", Known::kRebuildTensorV3},
      {"torch._tensor._rebuild_from_type_v2", Known::kRebuildFromType},
      {"torch.storage.UntypedStorage", Known::kName},
      {"torch.storage.TypedStorage", Known::kName},
      {"torch.UntypedStorage", Known::kName},
      {"torch.Tensor", Known::kName},
      {"torch.nn.parameter.Parameter", Known::kName},
      {"numpy.ndarray", Known::kName},
      {"numpy.dtype", Known::kNumpyDtype},
      {"numpy.core.multiarray._reconstruct", Known::kNumpyReconstruct},
      {"numpy._core.multiarray._reconstruct", Known::kNumpyReconstruct},
      {"numpy.core.multiarray.scalar", Known::kNumpyScalar},
      {"numpy._core.multiarray.scalar", Known::kNumpyScalar},
      {"numpy.core.numeric._frombuffer", Known::kNumpyFromBuffer},
      {"numpy._core.numeric._frombuffer", Known::kNumpyFromBuffer},
      {"_codecs.encode", Known::kEncode},
  };
  return known;
}

// Modules and functions whose only use in a pickle is to run something. Nothing would run here, but a file that tries is not
// one to take weights from.
constexpr std::array<std::string_view, 22> kHostile{"os.",
                                                    "posix.",
                                                    "nt.",
                                                    "subprocess.",
                                                    "sys.",
                                                    "shutil.",
                                                    "socket.",
                                                    "pty.",
                                                    "runpy.",
                                                    "importlib.",
                                                    "webbrowser.",
                                                    "ctypes.",
                                                    "pickle.",
                                                    "_pickle.",
                                                    "builtins.eval",
                                                    "builtins.exec",
                                                    "builtins.open",
                                                    "builtins.compile",
                                                    "builtins.__import__",
                                                    "__builtin__.eval",
                                                    "__builtin__.exec",
                                                    "multiprocessing."};

// The element type of torch.FloatStorage, torch.cuda.HalfStorage, torch.storage.UntypedStorage, ...
std::optional<Element> element_of_storage(std::string_view name) {
  if (name.ends_with(".UntypedStorage")) return Element::kUInt8;
  for (const std::string_view prefix : {"torch.cuda.", "torch."}) {
    if (name.starts_with(prefix)) return find_element(&ElementNames::storage, name.substr(prefix.size()));
  }
  return std::nullopt;
}

std::optional<Element> element_of_dtype(std::string_view name) {
  constexpr std::string_view kPrefix = "torch.";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  return find_element(&ElementNames::dtype, name.substr(kPrefix.size()));
}

void rebuild_tensor(PickleValue& made, const PickleValue& args, bool typed_by_argument, const std::string& file) {
  made.kind = PickleKind::kTensor;
  made.tensor = std::make_unique<TensorRef>(*item(args, 0, PickleKind::kStorage, "a tensor without storage", file).tensor);
  TensorRef& tensor = *made.tensor;
  const PickleValue& offset = item(args, 1, PickleKind::kInt, "a tensor without offset", file);
  TSR_CHECK(offset.text.empty() && offset.integer >= 0 && offset.integer <= kLargestCount,
            "{}: a tensor with an impossible offset", file);
  tensor.offset += offset.integer;  // of a storage that is itself a view
  tensor.sizes = whole_numbers(item(args, 2, PickleKind::kTuple, "a tensor without shape", file), "shape", file);
  tensor.strides = whole_numbers(item(args, 3, PickleKind::kTuple, "a tensor without strides", file), "stride", file);
  TSR_CHECK(tensor.sizes.size() == tensor.strides.size(), "{}: a tensor with {} sizes and {} strides", file,
            tensor.sizes.size(), tensor.strides.size());
  if (!typed_by_argument) return;
  const PickleValue& dtype = item(args, 6, PickleKind::kGlobal, "a tensor without type", file);
  const auto type = element_of_dtype(dtype.text);
  TSR_CHECK(type.has_value(), "{}: tensors of type {} cannot be read", file, dtype.text);
  tensor.type = *type;
}

// Python 3 adds the items afterwards; Python 2 hands an OrderedDict its items as a list of pairs, and others copy a dict.
void fill_dict(PickleValue& made, const PickleValue& args) {
  made.kind = PickleKind::kDict;
  if (args.items.empty()) return;
  const PickleValue& given = *args.items[0];
  if (given.is(PickleKind::kDict)) made.items = given.items;
  if (!given.is(PickleKind::kList)) return;
  for (const PickleValue* pair : given.items) {
    if (pair->items.size() == 2) made.items.insert(made.items.end(), pair->items.begin(), pair->items.end());
  }
}

}  // namespace

Known find_global(const std::string& name, const std::string& file) {
  for (const std::string_view hostile : kHostile) {
    const bool module = hostile.ends_with('.');
    TSR_CHECK(module ? !name.starts_with(hostile) : name != hostile,
              "{}: refused: its pickle asks for {}, which runs code; nothing was run. Do not trust this file", file, name);
  }
  if (const auto found = table().find(name); found != table().end()) return found->second;
  return element_of_storage(name) || element_of_dtype(name) ? Known::kName : Known::kNothing;
}

const PickleValue* call_global(const PickleValue& callable, const PickleValue& args, PickleValue& made,
                               const std::string& file) {
  const auto known = callable.is(PickleKind::kGlobal) ? static_cast<Known>(callable.integer) : Known::kNothing;
  switch (known) {
    case Known::kDict: fill_dict(made, args); return &made;
    case Known::kList:
      made.kind = PickleKind::kList;
      if (!args.items.empty()) made.items = args.items[0]->items;
      return &made;
    case Known::kFirst: return args.items.empty() ? &made : args.items[0];
    case Known::kRebuildTensor: rebuild_tensor(made, args, false, file); return &made;
    case Known::kRebuildTensorV3: rebuild_tensor(made, args, true, file); return &made;
    case Known::kRebuildFromType: {  // (function, type, arguments, attributes)
      const PickleValue& function = item(args, 0, PickleKind::kGlobal, "a tensor without maker", file);
      const PickleValue& inner = item(args, 2, PickleKind::kTuple, "a tensor without arguments", file);
      TSR_CHECK(static_cast<Known>(function.integer) != Known::kRebuildFromType, "{}: broken pickle: a tensor of a tensor",
                file);
      return call_global(function, inner, made, file);
    }
    case Known::kNumpyReconstruct: made.kind = PickleKind::kArray; return &made;
    case Known::kNumpyFromBuffer:  // (bytes, type, shape, order)
      TSR_CHECK(args.items.size() == 4, "{}: broken pickle: an array without content", file);
      fill_array(made, *args.items[2], *args.items[1], args.items[3]->text == "F", *args.items[0], file);
      return &made;
    case Known::kNumpyScalar: numpy_scalar(made, args, file); return &made;
    case Known::kNumpyDtype:
      made.kind = PickleKind::kDtype;
      made.text = item(args, 0, PickleKind::kString, "a NumPy type without name", file).text;
      return &made;
    case Known::kEncode: encode_latin1(made, args, file); return &made;
    case Known::kName:
    case Known::kNothing: break;
  }
  // copyreg's helpers make an object of their first argument: that class is the telling name.
  const bool helper = callable.text.starts_with("copyreg.") || callable.text.starts_with("copy_reg.");
  const bool named = helper && !args.items.empty() && args.items[0]->is(PickleKind::kGlobal);
  become_opaque(made, named ? args.items[0]->text : callable.text);
  return &made;
}

void build_value(PickleValue& value, const PickleValue& state, const std::string& file) {
  const auto& items = state.items;
  if (value.is(PickleKind::kArray)) {  // (version, shape, type, is_fortran, content)
    TSR_CHECK(state.is(PickleKind::kTuple) && items.size() == 5, "{}: broken pickle: an array without content", file);
    fill_array(value, *items[1], *items[2], items[3]->integer != 0, *items[4], file);
  } else if (value.is(PickleKind::kDtype)) {  // (version, byte order, ...)
    if (items.size() > 1 && items[1]->text == ">") value.text.insert(0, ">");
  } else if (value.is(PickleKind::kDict) && value.items.empty() && state.is(PickleKind::kDict)) {
    value.items = items;  // attributes of a Namespace; an OrderedDict that has items keeps them and loses its attributes
  }
}

void read_storage(PickleValue& made, const PickleValue& id, const std::string& file) {
  constexpr const char* kBroken = "a reference that is no storage";
  TSR_CHECK(id.is(PickleKind::kTuple), "{}: broken pickle: {}", file, kBroken);
  const std::string& what = item(id, 0, PickleKind::kString, kBroken, file).text;
  if (what == "module") return become_opaque(made, "a whole torch module");
  const PickleValue& global = item(id, 1, PickleKind::kGlobal, kBroken, file);
  const PickleValue& count = item(id, 4, PickleKind::kInt, kBroken, file);
  const auto type = element_of_storage(global.text);
  TSR_CHECK(what == "storage" && type, "{}: storages of type {} cannot be read", file, global.text);
  TSR_CHECK(count.text.empty() && count.integer >= 0 && count.integer <= kLargestCount / 8,
            "{}: a storage with an impossible size", file);
  made.tensor = std::make_unique<TensorRef>();
  made.tensor->type = *type;
  made.tensor->storage_key = item(id, 2, PickleKind::kString, kBroken, file).text;
  made.tensor->storage_bytes = count.integer * static_cast<int64_t>(size_of(*type));
  // Files of before 2019: a storage can be a part (key, offset, size) of another.
  if (id.items.size() > 5 && id.items[5]->is(PickleKind::kTuple)) {
    const auto& view = *id.items[5];
    const int64_t offset = item(view, 1, PickleKind::kInt, kBroken, file).integer;
    TSR_CHECK(offset >= 0 && offset <= kLargestCount, "{}: a storage with an impossible offset", file);
    made.tensor->offset = offset;
  }
}

}  // namespace tessera
