#pragma once

namespace tessera {

double normal_cdf(double x);
double normal_log_pdf(double x);
// The logarithm of the normal distribution's mass between a and b (a < b), exact far out in the tails as well.
double normal_log_mass(double a, double b);
// The x below which a share p of what lies between a and b is.
double normal_quantile_between(double p, double a, double b);

}  // namespace tessera
