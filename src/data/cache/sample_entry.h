#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "data/cache/sample_store.h"
#include "data/encoded_sample.h"
#include "data/sample.h"

namespace tessera {

// Samples as entries of the cache: what comes out is bit for bit what went in. A sample that cannot be (colours still to be
// changed) is not kept.

// `identity`: everything that decides what the sample is; another text for another sample.
SampleKey sample_key(std::string_view identity);

std::optional<Sample> find_decoded(SampleStore& store, const SampleKey& key);
void keep_decoded(SampleStore& store, const SampleKey& key, const Sample& sample);

std::optional<EncodedSample> find_encoded(SampleStore& store, const SampleKey& key);
void keep_encoded(SampleStore& store, const SampleKey& key, const EncodedSample& sample);

}  // namespace tessera
