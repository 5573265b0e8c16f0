#pragma once
#include "core/embedded.h"
#include "core/error.h"

namespace tessera {

// The files of html_template/, and "chart.js", as they were when the program was built.
EmbeddedFiles report_files();

// The content of one of them. Throws Error for an unknown name.
inline std::string_view embedded_file(std::string_view name) {
  const EmbeddedFile* found = find_embedded(report_files(), name);
  TSR_CHECK(found != nullptr, "no file {} in the program", name);
  return found->content;
}

}  // namespace tessera
