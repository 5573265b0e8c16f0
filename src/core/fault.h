#pragma once
#include <cstdint>
#include <string_view>

namespace tessera {

// Trying out what happens when a rank fails, on purpose: TESSERA_FAULT=RANK:PHASE:STEP makes that rank throw when it enters
// that phase of that step, and RANK:PHASE:STEP:hang makes it stop there for ever, as with a stuck disk. Phases are those of
// phase_name, e.g. 1:backward:3. Nothing happens in generations after the first, so a launcher's restart gets through.
void fail_on_purpose(std::string_view phase, int64_t step);

}  // namespace tessera
