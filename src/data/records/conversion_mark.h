#pragma once
#include "core/files.h"

namespace tessera {

// Hidden files by which a folder that `data convert` writes says how far it is.
inline constexpr const char* kJournalName = ".tessera-convert.jsonl";  // while something is missing
inline constexpr const char* kConvertedName = ".tessera-converted";    // when all is there

// Throws Error where `place`, a folder or what names files in it, belongs to a conversion that has not come to its end: a part
// of the samples looks like a whole data set to whoever lists files.
void refuse_unfinished_conversion(const fs::path& place);

}  // namespace tessera
