// Random damage: a decoder either decodes or throws Error; it never crashes, hangs or throws anything else.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "core/error.h"
#include "core/rng.h"
#include "data/decode/decode.h"
#include "data/decode/mask.h"
#include "support/pillow.h"

namespace tessera {
namespace {

constexpr uint32_t kMutations = 4000;

std::vector<std::vector<uint8_t>> all_files() {
  std::vector<std::vector<uint8_t>> files;
  for (const char* fixture : {"pillow/decode.json", "pillow/masks.json", "formats.json"}) {
    const auto groups = testing::load_fixture(fixture);
    for (const auto& entries : groups) {
      for (const auto& entry : entries) files.push_back(testing::numbers<uint8_t>(entry.at("file")));
    }
  }
  return files;
}

// Up to four bytes replaced, more often near the start, where the headers are; one file in four also loses its end.
void damage(std::vector<uint8_t>& file, Rng& rng) {
  const uint32_t flips = rng.below(4) + 1;
  for (uint32_t i = 0; i < flips; ++i) {
    const auto size = static_cast<uint32_t>(file.size());
    const uint32_t reach = rng.chance(0.5) ? std::min(size, 64U) : size;
    file[rng.below(reach)] = static_cast<uint8_t>(rng.bits());
  }
  if (rng.chance(0.25)) file.resize(rng.below(static_cast<uint32_t>(file.size())));
}

TEST(MutatedInputs, DecodeOrThrowErrorInTime) {
  const auto files = all_files();
  ASSERT_GT(files.size(), 50U);
  const auto start = std::chrono::steady_clock::now();
  using Kind = PlaneChoice::Kind;
  const std::vector<StackChoice> choices = {
      {}, {.z = {Kind::kMax}, .t = {Kind::kMax}}, {.channels = {"0"}, .z = {Kind::kMiddle}, .t = {Kind::kOne, 0}}};
  int decoded = 0;
  int refused = 0;
  for (uint32_t i = 0; i < kMutations; ++i) {
    Rng rng(20240, Stream::kSynthetic, i);
    std::vector<uint8_t> file = files[rng.below(static_cast<uint32_t>(files.size()))];
    damage(file, rng);
    SCOPED_TRACE(i);
    try {
      decode_image(file, {.channels = 3, .stack = choices[i % choices.size()]});
      ++decoded;
    } catch (const Error& error) {
      EXPECT_GT(std::string(error.what()).size(), 10U);
      ++refused;
    }
    try {
      decode_mask(file);
    } catch (const Error&) {
    }
  }
  EXPECT_EQ(decoded + refused, static_cast<int>(kMutations));
  EXPECT_GT(refused, 500);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

}  // namespace
}  // namespace tessera
