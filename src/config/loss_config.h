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
      "twice where its options, not just its weight, differ. Default: [ce], with data.labels.multi [bce, dice]");
  v.field("aux_weight", c.aux_weight,
          "factor of the same loss on a model's auxiliary head; default: as the head's library trains it, 0.5 in torchvision's "
          "layout, 0.4 in mmseg's. With deep supervision: factor of each height of the decoder as a multiple of the one above, "
          "0.5 by default as in nnU-Net; they add up to 1",
          at_least(0));
  v.aliases("terms", LossAliases{});
}

// What the logits of a model say: one class of several each (softmax), class 1 of two (one sigmoid), or for each class whether
// it is there (a sigmoid each).
enum class LogitKind { kSoftmax, kBinary, kMultiLabel };

// multi_label: of the data, see data.labels.multi. Else bce among the terms makes two classes of one logit, which the others
// take too.
LogitKind logit_kind(const LossConfig& config, bool multi_label);

// Output channels of a model that is trained with this loss.
int logit_channels(const LossConfig& config, int num_classes, bool multi_label = false);

// Throws UsageError when there is no term, when ce comes together with bce or with labels that it cannot take, or when two
// terms differ in nothing but their weight.
void check_terms(const LossConfig& config, bool multi_label = false);

}  // namespace tessera
