// libFuzzer target: compressed RLE strings of COCO and the runs of their lengths. Only an Error may come out, and every run
// lies in the image.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "data/datasets/rle.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const tessera::Size image{data[0] % 64 + 1, data[1] % 64 + 1};
  const int64_t pixels = int64_t{image.height} * image.width;
  try {
    const auto lengths = tessera::parse_rle_string({reinterpret_cast<const char*>(data) + 2, size - 2});
    const auto runs = tessera::runs_from_lengths(lengths, image);
    for (const tessera::PixelRun& run : runs) {
      if (run.begin < 0 || run.begin > run.end || run.end > pixels) std::abort();
    }
    std::vector<int16_t> columns(static_cast<size_t>(pixels));
    tessera::paint_runs(columns, runs, 1);
    if (tessera::label_map(columns, image).labels.size() != columns.size()) std::abort();
  } catch (const tessera::Error&) {
  }
  return 0;
}
