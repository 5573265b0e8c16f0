#include "config/loss_config.h"

#include <algorithm>

#include "core/error.h"

namespace tessera {
namespace {

template <class Options>
bool has_term(const LossConfig& config) {
  const auto is = [](const LossTermConfig& term) { return std::holds_alternative<Options>(term); };
  return std::any_of(config.terms.begin(), config.terms.end(), is);
}

double weight_of(const LossTermConfig& term) {
  return std::visit([](const auto& options) { return options.weight; }, term);
}

bool differ_in_weight_only(const LossTermConfig& a, LossTermConfig b) {
  std::visit([&](auto& options) { options.weight = weight_of(a); }, b);
  return a == b;
}

}  // namespace

LogitKind logit_kind(const LossConfig& config, bool multi_label) {
  if (multi_label) return LogitKind::kMultiLabel;
  return has_term<BinaryCrossEntropyConfig>(config) ? LogitKind::kBinary : LogitKind::kSoftmax;
}

int logit_channels(const LossConfig& config, int num_classes, bool multi_label) {
  return logit_kind(config, multi_label) == LogitKind::kBinary ? 1 : num_classes;
}

void check_terms(const LossConfig& config, bool multi_label) {
  const std::vector<LossTermConfig>& terms = config.terms;
  TSR_CHECK_USAGE(!terms.empty(), "loss.terms is empty; expected at least one term, e.g. [ce] or [ce, dice]");
  TSR_CHECK_USAGE(!multi_label || !has_term<CrossEntropyConfig>(config),
                  "loss.terms has ce, which expects one class at each pixel; with data.labels.multi classes overlap: use bce, "
                  "which takes each class for itself, e.g. loss.terms=[bce, dice]");
  TSR_CHECK_USAGE(!has_term<CrossEntropyConfig>(config) || !has_term<BinaryCrossEntropyConfig>(config),
                  "loss.terms has ce and bce; a model gives one logit for each class (ce) or one for both of two (bce): remove "
                  "one of them");
  TSR_CHECK_USAGE(!multi_label || !has_term<OhemConfig>(config),
                  "loss.terms has ohem, which ranks the pixels of an image by the probability of their one class; with "
                  "data.labels.multi classes overlap: use focal, which lets hard pixels count more class by class");
  for (size_t i = 0; i < terms.size(); ++i) {
    for (size_t j = i + 1; j < terms.size(); ++j) {
      TSR_CHECK_USAGE(!differ_in_weight_only(terms[i], terms[j]),
                      "loss.terms.{} and loss.terms.{} are both {} with the same options; write it once, with weight {}", i, j,
                      name_of(terms[i]), weight_of(terms[i]) + weight_of(terms[j]));
    }
  }
}

}  // namespace tessera
