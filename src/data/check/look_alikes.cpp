#include "data/check/look_alikes.h"

#include <algorithm>
#include <array>
#include <bit>

namespace tessera {
namespace {

// Two hashes that differ in at most seven bits agree in one of eight bytes.
constexpr int kMostBits = 7, kBands = 8;
// Alike in small to the noise of a compression; other pictures of one scene, by hand or a moment later, stay below.
constexpr double kAlike = 0.992;
// Where thousands of pictures have one byte in common (frames of one camera) each is compared with those next to it, in the
// order of their hashes: so the time stays bounded, and equal hashes still meet.
constexpr size_t kMostCompared = 256;

}  // namespace

std::vector<LookAlike> find_look_alikes(std::span<const PictureHash* const> pictures) {
  std::vector<LookAlike> found;
  std::vector<std::vector<size_t>> table(256);
  for (int band = 0; band < kBands; ++band) {
    const auto byte_of = [&](size_t i, int which) { return pictures[i]->bits >> (8 * which) & 0xFF; };
    for (auto& entries : table) entries.clear();
    for (size_t i = 0; i < pictures.size(); ++i) {
      if (pictures[i] != nullptr) table[byte_of(i, band)].push_back(i);
    }
    for (auto& entries : table) {
      if (entries.size() > kMostCompared) {
        std::sort(entries.begin(), entries.end(),
                  [&](size_t a, size_t b) { return std::pair(pictures[a]->bits, a) < std::pair(pictures[b]->bits, b); });
      }
      for (size_t a = 0; a < entries.size(); ++a) {
        const size_t end = std::min(entries.size(), a + 1 + kMostCompared);
        for (size_t b = a + 1; b < end; ++b) {
          const size_t i = std::min(entries[a], entries[b]), j = std::max(entries[a], entries[b]);
          if (std::popcount(pictures[i]->bits ^ pictures[j]->bits) > kMostBits) continue;
          bool met = false;  // in an earlier table
          for (int earlier = 0; earlier < band && !met; ++earlier) met = byte_of(i, earlier) == byte_of(j, earlier);
          const double alike = met ? 0 : likeness(*pictures[i], *pictures[j]);
          if (alike >= kAlike) found.push_back({i, j, alike});
        }
      }
    }
  }
  std::sort(found.begin(), found.end(),
            [](const LookAlike& a, const LookAlike& b) { return std::pair(a.first, a.second) < std::pair(b.first, b.second); });
  return found;
}

}  // namespace tessera
