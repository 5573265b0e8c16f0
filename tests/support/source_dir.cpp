#include "support/source_dir.h"

std::string tessera::testing::source_dir() {
  return TESSERA_SOURCE_DIR;
}
