#pragma once
#include <cstdint>

#include "core/host_device.h"

namespace tessera {

inline constexpr int64_t kMostChannels = 64;  // what a kernel takes as an argument

// How pixels become network input, channel by channel.
template <class T>
struct PixelScale {
  T max_value;
  T mean[kMostChannels], std[kMostChannels];

  // One order of roundings on every device: a GPU's input is the CPU's to the bit.
  TSR_HOST_DEVICE T operator()(T value, int64_t channel) const { return (value / max_value - mean[channel]) / std[channel]; }
};

}  // namespace tessera
