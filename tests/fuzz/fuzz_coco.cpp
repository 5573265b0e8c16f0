// libFuzzer target: COCO instances files, their outlines drawn on a small image. Only an Error may come out, and every run of
// pixels lies in the image.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/error.h"
#include "data/datasets/char_reader.h"
#include "data/datasets/coco_annotations.h"
#include "data/datasets/coco_outline.h"
#include "memory_file.h"

namespace {

constexpr tessera::Size kImage{24, 30};

void draw(std::string_view outline) {
  try {
    tessera::OutlineBudget budget;
    for (const tessera::PixelRun& run : tessera::outline_runs(outline, kImage, budget)) {
      if (run.begin < 0 || run.begin > run.end || run.end > int64_t{kImage.height} * kImage.width) std::abort();
    }
  } catch (const tessera::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  draw({reinterpret_cast<const char*>(data), size});
  const tessera::MemoryFile file(data, size);
  try {
    for (const tessera::CocoAnnotation& annotation : tessera::read_coco_file(file.path()).annotations)
      draw(tessera::read_range(file.path(), annotation.offset, annotation.length));
  } catch (const tessera::Error&) {
  }
  return 0;
}
