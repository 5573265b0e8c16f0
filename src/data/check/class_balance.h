#pragma once
#include <cstdint>
#include <vector>

#include "config/data_config.h"
#include "data/check/sample_classes.h"

namespace tessera {

// Note [Rare classes first]
// data.sampler=balanced draws a class, rare ones more often than common ones, and then one of the samples that show it, as
// DAFormer does (Hoyer et al., 2022): with f_c the share of class c in all labelled pixels and T data.balance.temperature,
//
//   P(c) = exp((1 - f_c) / T) / sum over classes k of exp((1 - f_k) / T)
//   P(sample) = strength * sum over its classes of P(c) / samples that show c  +  (1 - strength) / samples
//
// A sample shows a class from data.balance.min_pixels on; a class that no sample shows is not drawn. An epoch has as many
// places as before. Which samples take them is a function of (seed, epoch) and of these numbers (data/batch/sampler.h).

// P(c); 0 for those that are not drawn.
std::vector<double> class_chances(const std::vector<SampleClasses>& samples, int num_classes, const BalanceConfig& balance);

// P(sample), which add up to 1. Throws UsageError where no sample shows any class.
std::vector<double> sample_chances(const std::vector<SampleClasses>& samples, int num_classes, const BalanceConfig& balance);

}  // namespace tessera
