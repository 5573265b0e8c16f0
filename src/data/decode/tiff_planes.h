#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "data/decode/stack_choice.h"
#include "data/decode/tiff_layout.h"

namespace tessera {

// What becomes one channel of the image, or, of colour pages that are taken whole, as many as a page has.
struct TakenPlane {
  std::vector<int64_t> pages;  // several: the largest value of them all
  int sample = -1;             // of the page; -1: all of them
};

// What `choice` takes of a stack, in the file's own order of axes. `channels`: those that are taken one by one, counted with
// all that a page has; empty: whole pages. Throws Error where there is no such plane, and for more than kMaxChannels.
std::vector<TakenPlane> take_planes(const StackLayout& layout, const StackChoice& choice, const std::vector<int>& channels);

// The same in words. `names`: of all channels of the file.
StackShape taken_shape(const StackLayout& layout, const StackChoice& choice, const std::vector<int>& channels,
                       const std::vector<std::string>& names);

}  // namespace tessera
