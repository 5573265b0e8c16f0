#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "data/check/picture_hash.h"

namespace tessera {

struct LookAlike {
  size_t first, second;  // places in the list, first < second
  double likeness;
};

// Pairs of pictures that look the same though their pixels differ; sorted, each once. Note [Look-alikes]: hashes that differ in
// few bits are looked for in tables of eight of their bits each, so a hundred thousand pictures take seconds, and candidates
// count where their small images agree too. Null entries (pictures that show nothing) are alike to none.
std::vector<LookAlike> find_look_alikes(std::span<const PictureHash* const> pictures);

}  // namespace tessera
