#pragma once
#include <string>
#include <vector>

#include "config/schema.h"

namespace tessera {

enum class Compression { kNone, kBf16, kFp16 };
template <>
struct EnumNames<Compression> {
  static constexpr std::array<std::string_view, 3> names = {"none", "bf16", "fp16"};
};

enum class Reduction { kMean, kSum, kAdasum };
template <>
struct EnumNames<Reduction> {
  static constexpr std::array<std::string_view, 3> names = {"mean", "sum", "adasum"};
};

enum class NormScope { kUnit, kNode, kRank };
template <>
struct EnumNames<NormScope> {
  static constexpr std::array<std::string_view, 3> names = {"unit", "node", "rank"};
};

struct DistConfig {
  double bucket_mb = 8;
  Compression compression = Compression::kNone;
  Reduction reduction = Reduction::kMean;
  double predivide = 1;
  NormScope norm_scope = NormScope::kUnit;
  std::vector<std::string> rank_weights;
  int64_t timeout_s = 1800;
};
template <class V>
void describe(V& v, DistConfig& c) {
  v.field("bucket_mb", c.bucket_mb, "gradients are exchanged in pieces of about this size while the backward pass runs",
          positive());
  v.field("compression", c.compression, "type that gradients travel in; bf16 and fp16 halve the traffic and round");
  v.field("reduction", c.reduction,
          "mean: the gradient of the loss over the global batch, whatever the number of ranks; sum: that times the number of "
          "ranks; adasum: adaptive sum. The last two depend on the number of ranks");
  v.field("predivide", c.predivide, "divide gradients by this before they are added up, multiply after; keeps fp16 in range",
          positive());
  v.field("norm_scope", c.norm_scope,
          "whose samples share batch-norm statistics: unit: train.norm_group samples wherever they are; node, rank: those of a "
          "host or a rank, which makes the result depend on their number");
  v.field("rank_weights", c.rank_weights,
          "relative share of samples of each rank: [2, 1]; auto: measured at the start; empty: equal. Changes the time only");
  v.field("timeout_s", c.timeout_s, "seconds after which a collective that does not end is an error", at_least(1));
}

}  // namespace tessera
