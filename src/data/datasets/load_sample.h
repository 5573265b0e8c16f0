#pragma once
#include <string>

#include "config/data_config.h"
#include "core/files.h"
#include "data/decode/decode.h"
#include "data/sample.h"

namespace tessera {

// The steps file-based sources share. Whatever is wrong with a file becomes a BadSample that names the sample and the file.

DecodeOptions decode_options(const DataConfig& config);

// A sample with its image read and its placement set, without labels yet.
Sample load_image_sample(const std::string& id, const fs::path& path, const DecodeOptions& options);

LabelMap load_labels(const std::string& id, const fs::path& path, const LabelConfig& rules, int num_classes,
                     bool exif_orientation);

// Joins labels to their image; `labels_from` names where they came from when the sizes differ.
void attach_labels(Sample& sample, LabelMap labels, const fs::path& image_path, const std::string& labels_from);

// `error` as a BadSample whose reason names `path` (once).
[[noreturn]] void throw_bad_sample(const std::string& id, const fs::path& path, const Error& error);

}  // namespace tessera
