// libFuzzer target: the text of a config. Only an Error may come out, and no text unfolds to more than the limit.
#include <cstddef>
#include <cstdint>
#include <string>

#include "config/environment.h"
#include "config/node.h"
#include "core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    tessera::Node node = tessera::parse_config(text, "fuzz");
    tessera::resolve_environment(node);
  } catch (const tessera::Error&) {
  }
  try {
    tessera::Node root;
    tessera::apply_override(root, "a.b=" + text);
  } catch (const tessera::Error&) {
  }
  return 0;
}
