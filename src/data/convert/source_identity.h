#pragma once
#include <string>
#include <vector>

#include "data/convert/output_format.h"
#include "data/datasets/data_line.h"

namespace tessera {

// A key of all that decides what a conversion writes: the options, what the config says of the data, names of samples, and
// sizes and times of their files. Another key means that going on would mix two data sets. Throws Error where two samples have
// one name and the format needs names.
std::string source_identity(const DataConfig& config, const std::vector<OpenSplit>& splits, const OutputOptions& options,
                            const OutputFormat& format);

}  // namespace tessera
