#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// Slurm's short form of host names, "gpu[01-03,7],login": gpu01, gpu02, gpu03, gpu7, login. Brackets may come more than once in
// a name and numbers keep their leading zeros. Throws UsageError when the form is broken.
std::vector<std::string> expand_nodelist(std::string_view text);

// Slurm's counts per node, "4(x2),2": 4, 4, 2. Throws UsageError.
std::vector<int> expand_counts(std::string_view text);

}  // namespace tessera
