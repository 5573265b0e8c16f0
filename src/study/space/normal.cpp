#include "study/space/normal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace tessera {
namespace {

// log(normal_cdf(x)). Far out erfc is below the smallest number, and the asymptotic series is exact to rounding.
double normal_log_cdf(double x) {
  if (x > -20) return std::log(normal_cdf(x));
  double term = 1, sum = 1;
  for (int k = 1; k <= 10; ++k) {
    term *= -(2 * k - 1) / (x * x);
    sum += term;
  }
  return normal_log_pdf(x) - std::log(-x) + std::log(sum);
}

// log(exp(a) - exp(b)) for a > b.
double log_difference(double a, double b) {
  return a + std::log(-std::expm1(b - a));
}

// The x whose log(normal_cdf(x)) is `log_p`, for log_p <= log(1/2): Newton's method on the logarithm, which is concave and
// smooth, from Abramowitz and Stegun 26.2.23.
double lower_quantile(double log_p) {
  const double t = std::sqrt(-2 * log_p);
  double x = -(t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
  for (int i = 0; i < 20; ++i) {
    const double value = normal_log_cdf(x), slope = std::exp(normal_log_pdf(x) - value);
    const double step = (value - log_p) / slope;
    x -= step;
    if (std::abs(step) <= 1e-15 * (1 + std::abs(x))) break;
  }
  return x;
}

}  // namespace

double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

double normal_log_pdf(double x) {
  return -0.5 * x * x - 0.5 * std::log(2 * std::numbers::pi);
}

double normal_log_mass(double a, double b) {
  if (a > 0) return log_difference(normal_log_cdf(-a), normal_log_cdf(-b));
  if (b <= 0) return log_difference(normal_log_cdf(b), normal_log_cdf(a));
  return std::log1p(-normal_cdf(a) - normal_cdf(-b));
}

double normal_quantile_between(double p, double a, double b) {
  if (a > 0) return -normal_quantile_between(1 - p, -b, -a);  // the lower tail is the exact one
  const double low = normal_log_cdf(a),
               log_share = p > 0 ? std::log(p) + normal_log_mass(a, b) : -std::numeric_limits<double>::infinity();
  const double most = std::max(low, log_share), least = std::min(low, log_share);
  const double log_p = std::isinf(least) ? most : most + std::log1p(std::exp(least - most));
  const double x =
      log_p <= std::log(0.5) ? lower_quantile(log_p) : -lower_quantile(std::log(-std::expm1(std::min(log_p, 0.0))));
  return std::clamp(x, a, b);
}

}  // namespace tessera
