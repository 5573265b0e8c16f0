#include "study/search/parzen_kernels.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "study/space/normal.h"

namespace tessera {

ParzenKernels::ParzenKernels(const Parameter& parameter, const std::vector<double>& observations,
                             const ParzenSettings& settings)
    : parameter_(parameter), count_(observations.size() + 1) {
  if (parameter.kind == Parameter::Kind::kChoice) {
    centres_ = observations;
    choice_share_ = settings.prior_weight / static_cast<double>(count_);
    return;
  }
  const double half = parameter.step / 2;
  const double last = parameter.step > 0 ? parameter.snapped(parameter.high) : parameter.high;
  low_ = scaled(parameter.low - half);
  high_ = scaled(last + half);
  for (const double value : observations) centres_.push_back(scaled(value));
  set_widths(settings);
  centres_.push_back(parameter.normal ? parameter.normal->mean : 0.5 * (low_ + high_));
  widths_.push_back(parameter.normal ? parameter.normal->sd : high_ - low_);
  for (size_t i = 0; i < count_; ++i)
    log_mass_.push_back(normal_log_mass((low_ - centres_[i]) / widths_[i], (high_ - centres_[i]) / widths_[i]));
}

double ParzenKernels::scaled(double value) const {
  return parameter_.log ? std::log(value) : value;
}

// As wide as the way to the farther one of its two neighbours, where the ends of the range are nobody's neighbours unless there
// is one observation.
void ParzenKernels::set_widths(const ParzenSettings& settings) {
  const size_t n = centres_.size();
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return centres_[a] < centres_[b]; });
  widths_.resize(n);
  const double range = high_ - low_;
  const double least =
      settings.magic_clip ? range / std::min(100.0, 1.0 + std::max(static_cast<double>(count_), settings.clip_count)) : 1e-12;
  for (size_t i = 0; i < n; ++i) {
    const double here = centres_[order[i]];
    double width = 0;
    if (i > 0) width = here - centres_[order[i - 1]];
    if (i + 1 < n) width = std::max(width, centres_[order[i + 1]] - here);
    if (n == 1) width = std::max(here - low_, high_ - here);
    widths_[order[i]] = std::clamp(width, least, range);
  }
}

double ParzenKernels::choice_mass(size_t kernel, size_t choice) const {
  const auto choices = static_cast<double>(parameter_.choices.size());
  if (kernel + 1 == count_) return 1 / choices;
  const double hit = centres_[kernel] == static_cast<double>(choice) ? 1 : 0;
  return (hit + choice_share_) / (1 + choices * choice_share_);
}

void ParzenKernels::add_log_density(const std::vector<double>& values, std::vector<double>& sums) const {
  if (parameter_.kind == Parameter::Kind::kChoice) {
    for (size_t v = 0; v < values.size(); ++v) {
      const auto choice = static_cast<size_t>(values[v]);
      const double hit =
          count_ > 1 ? std::log((1 + choice_share_) / (1 + choice_share_ * static_cast<double>(parameter_.choices.size()))) : 0;
      const double miss =
          count_ > 1 ? std::log(choice_share_ / (1 + choice_share_ * static_cast<double>(parameter_.choices.size()))) : 0;
      double* row = sums.data() + v * count_;
      for (size_t k = 0; k + 1 < count_; ++k) row[k] += centres_[k] == static_cast<double>(choice) ? hit : miss;
      row[count_ - 1] += std::log(choice_mass(count_ - 1, choice));
    }
    return;
  }
  if (parameter_.step > 0) return add_masses_of_steps(values, sums);
  std::vector<double> constant(count_), precision(count_);
  for (size_t k = 0; k < count_; ++k) {
    precision[k] = 1 / widths_[k];
    constant[k] = normal_log_pdf(0) - log_mass_[k] - std::log(widths_[k]);
  }
  for (size_t v = 0; v < values.size(); ++v) {
    const double x = scaled(values[v]);
    double* row = sums.data() + v * count_;
    for (size_t k = 0; k < count_; ++k) {
      const double z = (x - centres_[k]) * precision[k];
      row[k] += constant[k] - 0.5 * z * z;
    }
  }
}

// Steps are few, and so are different kernels on them: each pair is computed once.
void ParzenKernels::add_masses_of_steps(const std::vector<double>& values, std::vector<double>& sums) const {
  std::map<std::pair<double, double>, size_t> known;
  std::vector<size_t> first, kernel_of(count_);
  for (size_t k = 0; k < count_; ++k) {
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
    double* row = sums.data() + v * count_;
    for (size_t k = 0; k < count_; ++k) row[k] += mass[kernel_of[k]];
  }
}

double ParzenKernels::sample(size_t kernel, Rng& rng) const {
  const double share = rng.uniform();
  if (parameter_.kind == Parameter::Kind::kChoice) {
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
