#include "config/loss_aliases.h"

#include <algorithm>
#include <concepts>
#include <optional>

#include "config/reader.h"
#include "config/writer.h"

namespace tessera {
namespace {

bool has_cross_entropy(const std::vector<LossTermConfig>& terms) {
  return std::any_of(terms.begin(), terms.end(), [](const LossTermConfig& term) {
    return std::holds_alternative<CrossEntropyConfig>(term) || std::holds_alternative<BinaryCrossEntropyConfig>(term);
  });
}

// Options without a term to act on count for nothing.
std::vector<LossTermConfig> selected_terms(const LossAliases& a) {
  const auto ce = [&](double weight) {
    return CrossEntropyConfig{
        .weight = weight, .class_weights = a.class_weights, .label_smoothing = a.label_smoothing, .mean = a.mean};
  };
  const auto bce = [&](double weight) { return BinaryCrossEntropyConfig{ce(weight)}; };
  const auto dice = [&](double weight) { return DiceConfig{.weight = weight, .smooth = a.dice_smooth}; };
  switch (a.type) {
    case LossType::kCe: return {ce(1)};
    case LossType::kDice: return {dice(1)};
    case LossType::kCeDice: return {ce(a.ce_weight), dice(a.dice_weight)};
    case LossType::kFocal: return {FocalConfig{.gamma = a.focal_gamma, .mean = a.mean}};
    case LossType::kBce: return {bce(1)};
    case LossType::kBceDice: return {bce(a.ce_weight), dice(a.dice_weight)};
  }
  fail("a loss type without terms");
}

// Terms of other kinds never had such keys.
template <class Options>
void take_options(const Options& term, LossAliases& to) {
  if constexpr (std::derived_from<Options, CrossEntropyConfig>) {
    to.ce_weight = term.weight;
    to.class_weights = term.class_weights;
    to.label_smoothing = term.label_smoothing;
    to.mean = term.mean;
  } else if constexpr (std::same_as<Options, DiceConfig>) {
    to.dice_weight = term.weight;
    to.dice_smooth = term.smooth;
  } else if constexpr (std::same_as<Options, FocalConfig>) {
    to.focal_gamma = term.gamma;
    to.mean = term.mean;
  }
}

// The keys that say these terms, if there are such.
std::optional<LossAliases> aliases_of(const std::vector<LossTermConfig>& terms) {
  LossAliases aliases;
  for (const LossTermConfig& term : terms) std::visit([&](const auto& options) { take_options(options, aliases); }, term);
  for (size_t i = 0; i < EnumNames<LossType>::names.size(); ++i) {
    aliases.type = static_cast<LossType>(i);
    if (selected_terms(aliases) == terms) return aliases;
  }
  return std::nullopt;
}

std::vector<std::string> alias_names() {
  LossAliases aliases;
  std::vector<std::string> names;
  for (const SchemaLine& line : ConfigWriter::lines(aliases)) names.push_back(line.name);
  return names;
}

[[noreturn]] void refuse(const Node& keys, const Node& given, const std::vector<LossTermConfig>& terms) {
  std::vector<std::string> names;
  for (const auto& entry : keys.map) names.push_back("loss." + entry.first);
  const std::string all = fmt::format("{}", fmt::join(names, ", "));
  fail_usage(
      "{}: {} and loss.terms ({}) say different things; remove {} (or take it back with null) and set the options of the terms "
      "themselves, e.g. loss.terms.0.{}.weight, or remove loss.terms",
      keys.map.front().second.origin.text(), all, given.origin.text(), all, name_of(terms.front()));
}

}  // namespace

std::vector<LossTermConfig> terms_of(const LossAliases& aliases) {
  std::vector<LossTermConfig> terms = selected_terms(aliases);
  const auto type = name_of(aliases.type);
  TSR_CHECK_USAGE(aliases.class_weights.say_nothing() || has_cross_entropy(terms),
                  "loss.class_weights act on cross entropy; loss.type {} has none: remove them or use ce or ce_dice", type);
  TSR_CHECK_USAGE(aliases.label_smoothing == 0 || has_cross_entropy(terms),
                  "loss.label_smoothing acts on cross entropy; loss.type {} has none: remove it or use ce or ce_dice", type);
  TSR_CHECK_USAGE(aliases.mean == LossMean::kLabelled || aliases.type != LossType::kDice,
                  "loss.mean=all is for a mean over pixels; loss.type dice has none: remove it or use ce, ce_dice or focal");
  return terms;
}

void apply_loss_aliases(const Node& loss, std::vector<LossTermConfig>& terms) {
  if (terms.empty()) return;  // an error whatever else is said; see check_terms
  const std::vector<std::string> names = alias_names();
  const Node* given = loss.find("terms");
  if (given != nullptr && given->kind == Node::Kind::kNull) given = nullptr;
  Node beside, over;
  beside.kind = over.kind = Node::Kind::kMap;
  for (const auto& [name, value] : loss.map) {
    if (value.kind == Node::Kind::kNull || std::find(names.begin(), names.end(), name) == names.end()) continue;
    if (given == nullptr || value.origin.layer > given->origin.layer) over.map.emplace_back(name, value);
    if (given != nullptr && value.origin.layer == given->origin.layer) beside.map.emplace_back(name, value);
  }
  for (const Node* keys : {&beside, &over}) {
    if (keys->map.empty()) continue;
    std::optional<LossAliases> aliases = aliases_of(terms);
    if (!aliases) refuse(*keys, *given, terms);
    ConfigReader::read_struct(*keys, "loss", *aliases);
    std::vector<LossTermConfig> changed = terms_of(*aliases);
    if (keys == &beside && changed != terms) refuse(*keys, *given, terms);
    terms = std::move(changed);
  }
}

}  // namespace tessera
