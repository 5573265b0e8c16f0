#pragma once
#include "study/executor/worker_link.h"

namespace tessera {

// A process that trains one trial after another for `tessera tune`, Note [Workers]; `socket` is the number of the descriptor
// that they come through. Returns the exit code.
int be_worker(const char* program, const char* socket);

}  // namespace tessera
