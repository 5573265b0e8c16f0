#include "study/search/parzen_kernels.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "study/space/normal.h"

namespace tessera {
namespace {

template <class T>
void insert_at(std::vector<T>& values, size_t place, T value) {
  values.insert(values.begin() + static_cast<ptrdiff_t>(place), value);
}

template <class T>
void erase_at(std::vector<T>& values, size_t place) {
  values.erase(values.begin() + static_cast<ptrdiff_t>(place));
}

}  // namespace

ParzenKernels::ParzenKernels(const Parameter& parameter, const std::vector<double>& observations,
                             const ParzenSettings& settings)
    : parameter_(parameter), settings_(settings), observations_(observations.size()) {
  if (is_choice()) {
    centres_ = observations;
    return;
  }
  const double half = parameter.step / 2;
  const double last = parameter.step > 0 ? parameter.snapped(parameter.high) : parameter.high;
  low_ = scaled(parameter.low - half);
  high_ = scaled(last + half);
  for (const double value : observations) centres_.push_back(scaled(value));
  order_.resize(observations_);
  std::iota(order_.begin(), order_.end(), size_t{0});
  std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) { return centres_[a] < centres_[b]; });
  centres_.push_back(parameter.normal ? parameter.normal->mean : 0.5 * (low_ + high_));
  for (std::vector<double>* of_kernels : {&widths_, &log_mass_, &log_scale_}) of_kernels->resize(count());
  set_all_widths();
  set_kernel(observations_, parameter.normal ? parameter.normal->sd : high_ - low_);
}

double ParzenKernels::scaled(double value) const {
  return parameter_.log ? std::log(value) : value;
}

double ParzenKernels::narrowest() const {
  constexpr double kNoClip = 1e-12;
  const double range = high_ - low_;
  if (!settings_.magic_clip) return std::min(kNoClip, range);
  return range / std::min(100.0, 1.0 + std::max(static_cast<double>(count()), settings_.clip_count));
}

void ParzenKernels::set_kernel(size_t kernel, double width) {
  widths_[kernel] = width;
  log_mass_[kernel] = normal_log_mass((low_ - centres_[kernel]) / width, (high_ - centres_[kernel]) / width);
  log_scale_[kernel] = normal_log_pdf(0) - log_mass_[kernel] - std::log(width);
}

// As wide as the way to the farther one of its two neighbours, where the ends of the range are nobody's neighbours unless there
// is one observation.
void ParzenKernels::set_width(size_t rank) {
  const size_t kernel = order_[rank];
  const double here = centres_[kernel];
  double width = 0;
  if (rank > 0) width = here - centres_[order_[rank - 1]];
  if (rank + 1 < observations_) width = std::max(width, centres_[order_[rank + 1]] - here);
  if (observations_ == 1) width = std::max(here - low_, high_ - here);
  set_kernel(kernel, std::clamp(width, narrowest_, high_ - low_));
}

void ParzenKernels::set_all_widths() {
  narrowest_ = narrowest();
  for (size_t rank = 0; rank < observations_; ++rank) set_width(rank);
}

void ParzenKernels::insert(size_t place, double observation) {
  ++observations_;
  if (is_choice()) return insert_at(centres_, place, observation);
  const double centre = scaled(observation);
  for (size_t& kernel : order_) kernel += kernel >= place ? 1 : 0;
  insert_at(centres_, place, centre);
  for (std::vector<double>* of_kernels : {&widths_, &log_mass_, &log_scale_}) insert_at(*of_kernels, place, 0.0);
  const auto comes_before = [&](size_t kernel, size_t other) {
    return centres_[kernel] != centres_[other] ? centres_[kernel] < centres_[other] : kernel < other;
  };
  const auto rank = static_cast<size_t>(std::lower_bound(order_.begin(), order_.end(), place, comes_before) - order_.begin());
  insert_at(order_, rank, place);
  if (narrowest() != narrowest_ || observations_ <= 2) return set_all_widths();
  for (size_t near = rank > 0 ? rank - 1 : 0; near <= rank + 1 && near < observations_; ++near) set_width(near);
}

void ParzenKernels::erase(size_t place) {
  --observations_;
  erase_at(centres_, place);
  if (is_choice()) return;
  for (std::vector<double>* of_kernels : {&widths_, &log_mass_, &log_scale_}) erase_at(*of_kernels, place);
  const auto rank = static_cast<size_t>(std::find(order_.begin(), order_.end(), place) - order_.begin());
  erase_at(order_, rank);
  for (size_t& kernel : order_) kernel -= kernel > place ? 1 : 0;
  if (narrowest() != narrowest_ || observations_ <= 2) return set_all_widths();
  for (size_t near = rank > 0 ? rank - 1 : 0; near <= rank && near < observations_; ++near) set_width(near);
}

double ParzenKernels::choice_share() const {
  return settings_.prior_weight / static_cast<double>(count());
}

double ParzenKernels::choice_mass(size_t kernel, size_t choice) const {
  const auto choices = static_cast<double>(parameter_.choices.size());
  if (kernel == observations_) return 1 / choices;
  const double hit = centres_[kernel] == static_cast<double>(choice) ? 1 : 0;
  return (hit + choice_share()) / (1 + choices * choice_share());
}

void ParzenKernels::add_choices(const std::vector<double>& values, std::vector<double>& sums) const {
  const double choices = static_cast<double>(parameter_.choices.size()), share = choice_share();
  const double hit = observations_ > 0 ? std::log((1 + share) / (1 + share * choices)) : 0;
  const double miss = observations_ > 0 ? std::log(share / (1 + share * choices)) : 0;
  const double prior = std::log(1 / choices);
  for (size_t v = 0; v < values.size(); ++v) {
    double* row = sums.data() + v * count();
    for (size_t k = 0; k < observations_; ++k) row[k] += centres_[k] == values[v] ? hit : miss;
    row[observations_] += prior;
  }
}

void ParzenKernels::add_log_density(const std::vector<double>& values, std::vector<double>& sums) const {
  if (is_choice()) return add_choices(values, sums);
  if (parameter_.step > 0) return add_masses_of_steps(values, sums);
  const size_t kernels = count();
  std::vector<double> precision(kernels);
  for (size_t k = 0; k < kernels; ++k) precision[k] = 1 / widths_[k];
  for (size_t v = 0; v < values.size(); ++v) {
    const double x = scaled(values[v]);
    double* row = sums.data() + v * kernels;
    for (size_t k = 0; k < kernels; ++k) {
      const double z = (x - centres_[k]) * precision[k];
      row[k] += log_scale_[k] - 0.5 * z * z;
    }
  }
}

// Steps are few, and so are different kernels on them: each pair is computed once.
void ParzenKernels::add_masses_of_steps(const std::vector<double>& values, std::vector<double>& sums) const {
  const size_t kernels = count();
  std::map<std::pair<double, double>, size_t> known;
  std::vector<size_t> first, kernel_of(kernels);
  for (size_t k = 0; k < kernels; ++k) {
    const auto [entry, is_new] = known.try_emplace({centres_[k], widths_[k]}, first.size());
    if (is_new) first.push_back(k);
    kernel_of[k] = entry->second;
  }
  std::map<double, std::vector<double>> masses;
  const double half = parameter_.step / 2;
  for (size_t v = 0; v < values.size(); ++v) {
    const auto [entry, is_new] = masses.try_emplace(values[v]);
    std::vector<double>& mass = entry->second;
    if (is_new) {
      const double from = scaled(values[v] - half), to = scaled(values[v] + half);
      for (const size_t k : first)
        mass.push_back(normal_log_mass((from - centres_[k]) / widths_[k], (to - centres_[k]) / widths_[k]) - log_mass_[k]);
    }
    double* row = sums.data() + v * kernels;
    for (size_t k = 0; k < kernels; ++k) row[k] += mass[kernel_of[k]];
  }
}

double ParzenKernels::sample(size_t kernel, Rng& rng) const {
  const double share = rng.uniform();
  if (is_choice()) {
    double left = share;
    for (size_t choice = 0; choice < parameter_.choices.size(); ++choice) {
      left -= choice_mass(kernel, choice);
      if (left < 0) return static_cast<double>(choice);
    }
    return static_cast<double>(parameter_.choices.size() - 1);
  }
  const double centre = centres_[kernel], width = widths_[kernel];
  const double x = centre + width * normal_quantile_between(share, (low_ - centre) / width, (high_ - centre) / width);
  return parameter_.snapped(parameter_.log ? std::exp(x) : x);
}

}  // namespace tessera
