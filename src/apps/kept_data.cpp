#include "apps/kept_data.h"

namespace tessera {
namespace {

bool keeps = false;
std::optional<RunData> kept;

}  // namespace

void keep_run_data() {
  keeps = true;
}

std::optional<RunData> kept_run_data(const Experiment& experiment) {
  if (!keeps) return std::nullopt;
  if (!kept || !is_run_data_of(*kept, experiment)) {
    kept.reset();  // before the others take memory
    kept = open_run_data(experiment);
  }
  return kept;
}

}  // namespace tessera
