#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "study/space/space.h"

namespace tessera {

// Whether every key that the space sets is one of the config's, and every value one that the key may have: each choice, and
// numbers of every range, are laid over the config as a trial's would be (the other parameters at their first values) and read.
// `also`: what else is to be checked of such an experiment, as that its model exists; it throws UsageError. Throws UsageError
// that names parameter and value.
void check_space(const Space& space, const std::filesystem::path& config, const std::vector<std::string>& overrides,
                 const std::function<void(const Experiment&)>& also = {});

}  // namespace tessera
