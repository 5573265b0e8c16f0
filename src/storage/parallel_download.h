#pragma once
#include <cstdint>

#include "storage/download.h"

namespace tessera {

struct DownloadParts {
  int connections = 4;
  int64_t part_bytes = int64_t{16} << 20;
};

// As `download`, over several connections where the server gives parts of a file and it is large enough for two; else it is
// `download`. Which parts are there is kept in PARTIAL.parts: after a kill only those in the making come again. A part is noted
// when the disk has it. The list stays once all are there: a caller that is killed before it has moved the file away gets it at
// once the next time.
Downloaded download_in_parts(const std::string& url, const std::filesystem::path& partial, Access access = Access::kUmask,
                             const DownloadParts& parts = {});

// Removes all that either kind of download left for `partial`.
void forget_download_in_parts(const std::filesystem::path& partial);

}  // namespace tessera
