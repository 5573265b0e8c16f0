#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nn/model.h"
#include "tensor/op_observer.h"

namespace tessera {

// Where the numbers of a forward pass first were not finite.
struct NonFiniteOutput {
  int64_t number = 0;         // of the operation, counted from the first one
  std::string layer;          // the path of the module whose weights were read last; empty: before the first one
  bool own = false;           // that module's own operation; else one behind it
  std::string op;             // "aten::convolution"
  std::vector<int64_t> rows;  // of the pass, that are not finite; empty where the output has no row per sample
};

// While it lives, looks at what the operations of this thread give, and waits for each: for a step that is known to go wrong.
class OutputWatch {
 public:
  // model: with the weights that are computed with. samples: of the pass.
  OutputWatch(const SegmentationModel& model, int64_t samples);

  const std::optional<NonFiniteOutput>& found() const { return found_; }

 private:
  OpObserver::Finish begin(std::string_view name, OpValues inputs);
  void look_at(const at::Tensor& output, const std::string& op, const std::string& layer, bool own);

  std::map<const void*, std::string> layers_;  // by where a parameter lies
  std::string layer_;                          // whose weights were read last
  int64_t samples_, operations_ = 0;
  std::optional<NonFiniteOutput> found_;
  OpObserver observer_;
};

}  // namespace tessera
