// libFuzzer target: a config as far as an experiment, every field of it read and checked. Only an Error may come out; what is
// read can be written, and is read again as it was.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "config/experiment.h"
#include "core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::string written;
  try {
    written = experiment_yaml(read_experiment(parse_config(text, "fuzz")));
  } catch (const Error&) {
    return 0;
  }
  if (experiment_yaml(read_experiment(parse_config(written, "written"))) != written) std::abort();
  return 0;
}
