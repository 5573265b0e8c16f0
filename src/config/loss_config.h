#pragma once
#include <optional>
#include <vector>

#include "config/loss_aliases.h"
#include "config/loss_term_config.h"
#include "config/schema.h"

namespace tessera {

struct LossConfig {
  std::vector<LossTermConfig> terms{CrossEntropyConfig{}};
  std::optional<double> aux_weight;
};
template <class V>
void describe(V& v, LossConfig& c) {
  v.field(
      "terms", c.terms,
      "what is summed, each term times its weight: [ce, {dice: {weight: 3}}]; their options are listed below. A term may come "
      "twice where its options, not just its weight, differ");
  v.field("aux_weight", c.aux_weight,
          "factor of the same loss on a model's auxiliary head; default: as the head's library trains it, 0.5 in torchvision's "
          "layout, 0.4 in mmseg's",
          at_least(0));
  v.aliases("terms", LossAliases{});
}

// Whether the model learns two classes from one logit: one of the terms is bce, and the others take that logit too.
bool is_binary(const LossConfig& config);

// Output channels of a model that is trained with this loss.
int logit_channels(const LossConfig& config, int num_classes);

// Throws UsageError when there is no term, when ce and bce come together, or when two terms differ in nothing but their weight.
void check_terms(const LossConfig& config);

}  // namespace tessera
