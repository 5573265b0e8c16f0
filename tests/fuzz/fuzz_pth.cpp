// libFuzzer target: .pth files of both formats, and bare pickles. Only an Error may come out; nothing may run or leak.
#include <cstddef>
#include <cstdint>

#include "core/error.h"
#include "weights/formats/pickle.h"
#include "weights/formats/pickle_walk.h"
#include "weights/formats/pth_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const tessera::Blob file{{data, size}, nullptr};
  try {
    tessera::parse_pth(file, "fuzz");
  } catch (const tessera::Error&) {
  }
  try {
    const tessera::Pickle pickle = tessera::parse_pickle(file.bytes, "fuzz");
    tessera::walk_pickle(*pickle.root, "fuzz");
  } catch (const tessera::Error&) {
  }
  return 0;
}
