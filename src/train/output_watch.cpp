#include "train/output_watch.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <set>

namespace tessera {
namespace {

// Operations whose output is memory that nothing was written to, a view of such memory made in place, or numbers that were
// asked for.
bool makes_no_numbers(std::string_view name) {
  if (name.find("empty") != std::string_view::npos) return true;
  for (const std::string_view begin :
       {"aten::fill", "aten::full", "aten::masked_fill", "aten::resize", "aten::as_strided", "aten::set_", "aten::detach",
        "aten::transpose_", "aten::t_", "aten::squeeze_", "aten::unsqueeze_"}) {
    if (name.starts_with(begin)) return true;
  }
  return false;
}

bool writes_in_place(std::string_view name) {
  const std::string_view base = name.substr(0, name.find('.', name.find("::")));
  return base.ends_with('_') || name.find("out") != std::string_view::npos;
}

std::vector<at::Tensor> tensors_of(OpValues values) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& value : values) {
    if (value.isTensor()) tensors.push_back(value.toTensor());
    if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector()) tensors.push_back(tensor);
    }
  }
  std::erase_if(tensors, [](const at::Tensor& t) { return !t.defined() || !t.has_storage() || t.numel() == 0; });
  return tensors;
}

const void* memory_of(const at::Tensor& tensor) {
  return tensor.storage().data();
}

std::string path_of_module(const std::string& parameter) {
  const size_t dot = parameter.rfind('.');
  return dot == std::string::npos ? parameter : parameter.substr(0, dot);
}

std::vector<int64_t> bad_rows(const at::Tensor& finite) {
  std::vector<int64_t> rows;
  const at::Tensor whole = finite.reshape({finite.size(0), -1}).all(1).cpu();
  for (int64_t row = 0; row < whole.numel(); ++row) {
    if (!whole[row].item<bool>()) rows.push_back(row);
  }
  return rows;
}

}  // namespace

OutputWatch::OutputWatch(const SegmentationModel& model, int64_t samples)
    : samples_(samples),
      observer_(OpObserver::Threads::kThis, [this](std::string_view name, OpValues in) { return begin(name, in); }) {
  const at::RecordFunctionGuard unobserved(/*is_enabled=*/false);
  for (const auto& item : model.named_parameters()) {
    if (item.value().numel() > 0) layers_[item.value().const_data_ptr()] = path_of_module(item.key());
  }
}

OpObserver::Finish OutputWatch::begin(std::string_view name, OpValues inputs) {
  ++operations_;
  if (found_ || makes_no_numbers(name)) return nullptr;
  bool own = false;
  std::set<const void*> read;
  for (const at::Tensor& tensor : tensors_of(inputs)) {
    read.insert(memory_of(tensor));
    const auto layer = layers_.find(tensor.const_data_ptr());
    if (layer == layers_.end()) continue;
    layer_ = layer->second;
    own = true;
  }
  // Of the thread that looks: what looking itself runs is not to be looked at.
  return [this, op = std::string(name), layer = layer_, own, read = std::move(read)](OpValues outputs) {
    const at::RecordFunctionGuard unobserved(/*is_enabled=*/false);
    const at::NoGradGuard no_grad;
    for (const at::Tensor& output : tensors_of(outputs)) {
      const bool view = read.contains(memory_of(output)) && !writes_in_place(op);
      if (view || !output.is_floating_point()) continue;
      if (own && output.numel() > 0 && (op == "aten::_to_copy" || op == "aten::contiguous" || op == "aten::clone"))
        layers_[output.const_data_ptr()] = layer;  // the weights again, in another type or order
      look_at(output, op, layer, own);
    }
  };
}

// Operations lie within one another; the innermost is the first to end.
void OutputWatch::look_at(const at::Tensor& output, const std::string& op, const std::string& layer, bool own) {
  if (found_) return;
  const at::Tensor finite = output.isfinite();
  if (finite.all().item<bool>()) return;
  found_ = {.number = operations_, .layer = layer, .own = own, .op = op, .rows = {}};
  if (output.dim() > 0 && output.size(0) == samples_) found_->rows = bad_rows(finite);
}

}  // namespace tessera
