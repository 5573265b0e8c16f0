#pragma once
#include <string>
#include <vector>

namespace tessera {

// Names for paths, short and unlike one another: the last parts that tell them apart. A number is a trial's, which says little
// without its study: `studies/cells/trials/3` is cells/3.
std::vector<std::string> short_names(const std::vector<std::string>& paths);

}  // namespace tessera
