#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "data/dataset.h"

namespace tessera {

// Which samples a run learns from and is measured on, in their order: their number and a hash of their names. A checkpoint
// keeps it, as steps that follow would read others where files came or went.
struct SampleNames {
  int64_t train = 0, val = 0;
  std::string train_hash, val_hash;  // empty: not known (of an older checkpoint)

  SampleNames() = default;
  SampleNames(const Dataset& train, const Dataset& val);
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SampleNames, train, val, train_hash, val_hash)

// Throws UsageError where a run would go on with other training samples; warns of other validation samples.
void check_same_samples(const SampleNames& before, const SampleNames& now);

// How `val` differs from the validation samples of a run ("4 then, 3 now"); "" if it does not, or if they are not known.
std::string other_val_samples(const SampleNames& run, const Dataset& val);

}  // namespace tessera
