#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "config/data_config.h"
#include "core/files.h"
#include "data/decode/decode.h"
#include "data/sample.h"
#include "storage/blob.h"

namespace tessera {

// The steps that sources of encoded images share. Whatever is wrong with the bytes becomes a BadSample that names the sample
// and `name`, which says where the bytes came from: a file, or a place in an archive.

DecodeOptions decode_options(const DataConfig& config);

// The whole file.
Blob read_sample_file(const std::string& id, const fs::path& path);

// A sample with its image decoded and its placement set, without labels yet.
Sample load_image_sample(const std::string& id, std::span<const uint8_t> bytes, const std::string& name,
                         const DecodeOptions& options);
Sample load_image_sample(const std::string& id, const fs::path& path, const DecodeOptions& options);

LabelMap load_labels(const std::string& id, std::span<const uint8_t> bytes, const std::string& name, const LabelConfig& rules,
                     int num_classes, const DecodeOptions& options);
LabelMap load_labels(const std::string& id, const fs::path& path, const LabelConfig& rules, int num_classes,
                     const DecodeOptions& options);

// The labels of a file with a channel for each class: see decode_class_channels.
LabelMap load_class_channels(const std::string& id, const fs::path& path, const LabelConfig& rules, int num_classes,
                             const DecodeOptions& options);

// Throws BadSample unless a mask of the size `mask` fits the sample's image; the names are as for attach_labels. For masks
// that are drawn: what a file says about their size is compared before memory is taken for them.
void check_mask_size(const Sample& sample, Size mask, const std::string& image_name, const std::string& labels_name);

// Joins labels to their image; the names say where both came from when the sizes differ.
void attach_labels(Sample& sample, LabelMap labels, const std::string& image_name, const std::string& labels_name);

}  // namespace tessera
