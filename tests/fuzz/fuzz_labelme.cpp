// libFuzzer target: labelme's files, drawn on a small image. Only an Error may come out, and every label is a class or ignored.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "core/error.h"
#include "data/datasets/labelme.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr tessera::Size kImage{24, 30};
  tessera::LabelConfig rules;
  rules.binary = size % 2 == 1;
  try {
    for (const int16_t label : tessera::labelme_labels({data, size}, kImage, {"background", "a", "b"}, rules).labels) {
      if (label != tessera::kIgnoreLabel && (label < 0 || label > 2)) std::abort();
    }
  } catch (const tessera::Error&) {
  }
  return 0;
}
