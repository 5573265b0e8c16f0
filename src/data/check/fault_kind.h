#pragma once
#include <string_view>

#include "data/check/finding_kind.h"

namespace tessera {

// The kind of a sample that cannot be used, by the reason its BadSample gives. Reasons are ours, and the test makes each with
// the code that says it, so that a changed word is noticed.
FindingKind fault_kind(std::string_view reason);

}  // namespace tessera
