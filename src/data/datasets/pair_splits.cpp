#include "data/datasets/pair_splits.h"

#include <algorithm>

#include "core/error.h"
#include "core/name_list.h"
#include "data/datasets/held_out.h"
#include "data/datasets/sample_list.h"

namespace tessera {
namespace {

using Positions = std::vector<size_t>;

std::vector<bool> flags_of(const Positions& positions, size_t size) {
  std::vector<bool> flags(size, false);
  for (const size_t i : positions) flags[i] = true;
  return flags;
}

Positions without(Positions positions, const std::vector<bool>& left_out) {
  std::erase_if(positions, [&](size_t i) { return left_out[i]; });
  return positions;
}

// The lists of one folder's samples.
class Lists {
 public:
  Lists(const DataConfig& config, const Layout& layout, std::span<const std::string> names)
      : config_(config), layout_(layout), names_(names) {}

  bool has(Split split) const { return !layout_.part(split).list.empty(); }
  std::string text(Split split) const { return "listed in " + layout_.part(split).list; }

  // All of the folder where the split has no list.
  Positions read(Split split) const {
    return listed_samples(layout_.part(split).list, root_of(config_, split_of(config_, split)), names_);
  }

  // A model that has seen what it is measured on looks better than it is.
  void refuse_overlap(Split one, Split other) const {
    const std::vector<bool> in_one = flags_of(read(one), names_.size());
    const Positions measured = read(other);
    std::vector<std::string> both;
    for (const size_t i : measured) {
      if (in_one[i]) both.push_back(names_[i]);
    }
    if (both.empty()) return;
    fail("{} and {} share {} of {} {} samples: {}; take them out of one list{}", key(one), key(other), both.size(),
         measured.size(), other == Split::kVal ? "validation" : "test", name_list(both),
         one == Split::kTrain ? " (to measure on training data on purpose, use eval --split train)" : "");
  }

 private:
  std::string key(Split split) const {
    return split_of(config_, split).list.empty() ? layout_.part(split).list : fmt::format("data.{}.list", name_of(split));
  }

  const DataConfig& config_;
  const Layout& layout_;
  std::span<const std::string> names_;
};

}  // namespace

SplitChoice choose_split(const DataConfig& config, const Layout& layout, Split split, std::span<const std::string> names) {
  const Lists lists(config, layout, names);
  const bool own_folders = !layout.part(split).images.empty();
  if (split != Split::kTrain && own_folders) return {lists.read(split), lists.has(split) ? lists.text(split) : ""};

  const bool lists_test = layout.test.images.empty() && lists.has(Split::kTest);
  const bool lists_val = layout.val.images.empty() && lists.has(Split::kVal);
  if (lists.has(Split::kTrain) && lists_val) lists.refuse_overlap(Split::kTrain, Split::kVal);
  if (lists.has(Split::kTrain) && lists_test) lists.refuse_overlap(Split::kTrain, Split::kTest);
  if (lists_val && lists_test) lists.refuse_overlap(Split::kVal, Split::kTest);

  if (split == Split::kTest || (split == Split::kVal && lists_val)) return {lists.read(split), lists.text(split)};
  Positions pool = lists.read(Split::kTrain);
  if (lists_test) pool = without(std::move(pool), flags_of(lists.read(Split::kTest), names.size()));
  const std::string train_text = lists.has(Split::kTrain) ? lists.text(Split::kTrain) : "";
  if (!layout.val.images.empty()) return {pool, train_text};
  if (lists_val) return {without(std::move(pool), flags_of(lists.read(Split::kVal), names.size())), train_text};

  const std::vector<bool> held_out = draw_held_out(config, pool, names);
  if (split == Split::kTrain) return {without(std::move(pool), held_out), train_text};
  Positions val;
  for (size_t i = 0; i < names.size(); ++i) {
    if (held_out[i]) val.push_back(i);  // in order, whatever that of train's list
  }
  const std::string text = held_out_text(config, val.size(), pool.size());
  return {std::move(val), text};
}

}  // namespace tessera
