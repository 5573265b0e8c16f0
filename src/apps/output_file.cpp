#include "apps/output_file.h"

#include "core/error.h"
#include "core/files.h"

namespace tessera {

void check_output_file(const fs::path& file) {
  std::error_code error;
  TSR_CHECK(!fs::is_directory(file, error), "the output file {} cannot be written: it is a folder; name a file in it",
            file.string());
  TSR_CHECK(file.has_filename(), "the output file {} cannot be written: a name after the last / is missing", file.string());
  if (is_stream(file)) return;
  const std::string why = why_not_writable(file.has_parent_path() ? file.parent_path() : ".");
  TSR_CHECK(why.empty(), "the output file {} cannot be written: {}", file.string(), why);
}

}  // namespace tessera
