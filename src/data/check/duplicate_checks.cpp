#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "data/check/checks.h"
#include "data/check/look_alikes.h"

namespace tessera {
namespace {

// A sample of any split.
struct Place {
  const Survey* survey;
  int64_t index;
  const SampleFacts& facts() const { return survey->samples[static_cast<size_t>(index)]; }
  std::string id() const { return survey->data->id(index); }
};

std::vector<Place> decoded_samples(std::span<const Survey> surveys) {
  std::vector<Place> all;
  for (const Survey& survey : surveys) {
    for (size_t i = 0; i < survey.samples.size(); ++i) {
      if (survey.samples[i].usable() && survey.samples[i].decoded) all.push_back({&survey, static_cast<int64_t>(i)});
    }
  }
  return all;
}

class Pairs {
 public:
  // `at` is, or looks like, `other`.
  void add(FindingKind kind, const Place& at, const Place& other, std::string detail) {
    Finding& finding = found_[{at.survey->split, kind}];
    finding.kind = kind;
    finding.split = at.survey->split;
    if (!told_.insert({at.survey->split, at.index}).second) return;  // one other is enough
    finding.samples.push_back({.index = at.index,
                               .id = at.id(),
                               .detail = std::move(detail),
                               .other = other.index,
                               .other_split = other.survey->split});
  }
  void move_to(std::vector<Finding>& findings) {
    for (auto& [key, finding] : found_) {
      if (finding.samples.empty()) continue;
      std::sort(finding.samples.begin(), finding.samples.end(),
                [](const FoundSample& a, const FoundSample& b) { return a.index < b.index; });
      findings.push_back(std::move(finding));
    }
  }

 private:
  std::map<std::pair<Split, FindingKind>, Finding> found_;
  std::set<std::pair<Split, int64_t>> told_;
};

// Pictures that show something; one tone and noise look like any other.
bool shows_something(const SampleFacts& facts) {
  constexpr float kLeastContrast = 0.004F;  // one of 255 greys
  constexpr int kLeastSide = 16;
  return !facts.constant && facts.picture.contrast >= kLeastContrast &&
         std::min(facts.size.height, facts.size.width) >= kLeastSide;
}

std::string mask_remark(const Place& a, const Place& b) {
  const bool differ = a.facts().has_labels && b.facts().has_labels && a.facts().labels_hash != b.facts().labels_hash;
  return differ ? ", with another mask" : "";
}

// Where an image is in two splits, the one of train is told of: that is the one to take out.
void find_copies(const std::vector<Place>& all, Pairs& pairs) {
  std::unordered_map<uint64_t, std::vector<const Place*>> by_hash;
  for (const Place& place : all) by_hash[place.facts().hash].push_back(&place);
  for (const Place& place : all) {
    const auto& same = by_hash[place.facts().hash];
    const auto other_split = std::find_if(same.begin(), same.end(), [&](const Place* other) {
      return other->survey->split > place.survey->split && place.facts().same_image(other->facts());
    });
    if (other_split != same.end()) {
      pairs.add(FindingKind::kSplitLeak, place, **other_split,
                fmt::format("is {} of {}{}", (*other_split)->id(), name_of((*other_split)->survey->split),
                            mask_remark(place, **other_split)));
      continue;
    }
    const Place& first = **std::find_if(same.begin(), same.end(), [&](const Place* other) {
      return other->survey == place.survey && place.facts().same_image(other->facts());
    });
    if (first.index != place.index)
      pairs.add(FindingKind::kExactDuplicate, place, first,
                fmt::format("is {} again{}", first.id(), mask_remark(place, first)));
  }
}

std::set<std::pair<size_t, size_t>> find_near(const std::vector<Place>& all, Pairs& pairs) {
  std::vector<const PictureHash*> pictures;
  for (const Place& place : all) pictures.push_back(shows_something(place.facts()) ? &place.facts().picture : nullptr);
  std::set<std::pair<size_t, size_t>> alike;
  for (const LookAlike& pair : find_look_alikes(pictures)) {
    const Place &a = all[pair.first], &b = all[pair.second];
    alike.insert({pair.first, pair.second});
    if (a.facts().same_image(b.facts())) continue;
    if (a.survey->split == b.survey->split) {
      pairs.add(FindingKind::kNearDuplicate, b, a,
                fmt::format("looks like {} ({:.1f} % alike){}", a.id(), 100 * pair.likeness, mask_remark(b, a)));
    } else {
      pairs.add(FindingKind::kNearSplitLeak, a, b,
                fmt::format("looks like {} of {} ({:.1f} % alike)", b.id(), name_of(b.survey->split), 100 * pair.likeness));
    }
  }
  return alike;
}

// Masks that no two images have by chance: of several classes, each with a part of it, and of some outline.
bool is_telling(const SampleFacts& facts) {
  constexpr int64_t kLeastBorders = 16;
  constexpr double kLeastShare = 0.005;
  if (facts.classes.size() < 2 || facts.label_borders < kLeastBorders) return false;
  const auto parts = std::count_if(facts.classes.begin(), facts.classes.end(), [&](const auto& one) {
    return static_cast<double>(one.second) >= kLeastShare * static_cast<double>(facts.pixels());
  });
  return parts >= 2;
}

void find_same_masks(const std::vector<Place>& all, const std::set<std::pair<size_t, size_t>>& alike, Pairs& pairs) {
  constexpr double kOneScene = 0.8;
  std::unordered_map<uint64_t, size_t> first;
  for (size_t i = 0; i < all.size(); ++i) {
    const SampleFacts& facts = all[i].facts();
    if (!is_telling(facts)) continue;
    const auto [place, is_new] = first.emplace(facts.labels_hash, i);
    const SampleFacts& other = all[place->second].facts();
    if (is_new || other.size != facts.size || facts.hash == other.hash || alike.contains({place->second, i})) continue;
    if (likeness(facts.picture, other.picture) > kOneScene) continue;  // two photos of one thing may share a mask
    pairs.add(FindingKind::kSameMask, all[i], all[place->second],
              fmt::format("its mask is that of {}, the image is another", all[place->second].id()));
  }
}

}  // namespace

void check_duplicates(const CheckInput& input, std::vector<Finding>& findings) {
  const std::vector<Place> all = decoded_samples(input.surveys);
  Pairs copies, masks;
  find_copies(all, copies);
  const auto alike = find_near(all, copies);
  find_same_masks(all, alike, masks);
  copies.move_to(findings);
  masks.move_to(findings);
}

}  // namespace tessera
