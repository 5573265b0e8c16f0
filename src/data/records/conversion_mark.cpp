#include "data/records/conversion_mark.h"

#include "core/error.h"
#include "core/printable.h"

namespace tessera {

void refuse_unfinished_conversion(const fs::path& place) {
  // DST, DST/train and DST/train/shard-{000000..000011}.tar all lie in the folder DST.
  constexpr int kLevels = 3;
  fs::path folder = fs::absolute(place).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // of a name that ends in a slash
  for (int level = 0; level < kLevels; ++level, folder = folder.parent_path()) {
    std::error_code error;
    if (!fs::exists(folder / kJournalName, error) || fs::exists(folder / kConvertedName, error)) continue;
    fail(
        "{} holds a conversion that has not come to its end, so that samples are missing: repeat the `tessera data convert` "
        "that began it, and it goes on; or remove the folder",
        printable(folder.string()));
  }
}

}  // namespace tessera
