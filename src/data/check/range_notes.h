#pragma once
#include <span>
#include <string>
#include <vector>

#include "config/data_config.h"
#include "data/check/image_look.h"

namespace tessera {

// Note [Automatic normalisation]
// Photographs fill the range of their 8 bits, and mode fixed suits them. 16-bit and float images, and stacks of channels,
// seldom fill theirs: a camera writes 12 bits into 16, a float image holds 0..4095. For these data.normalize.mode=auto stands
// for `range`, from the 0.5 to the 99.5 percentile of the training images, channel by channel. Who sets mean or std has
// measured them on values scaled by the depth, so these stay with `fixed`; images of several depths do too, each scaled by its
// own. It is decided once, when a run begins; config.yaml and the checkpoints say what it was, in the files' own values.

// data.normalize with what auto stands for in its place; any other mode as it is.
NormalizeConfig decided_normalize(const DataConfig& config, const ImageFacts& facts);

// "16-bit, 1 channel, values 96 to 4012 (12 of 16 bits)": what images look like, for people.
std::string describe_images(std::span<const ImageLook> images);

// A sentence where this normalisation (which is decided) leaves hardly any contrast or values far from 0, with the keys to set;
// else "".
std::string contrast_note(std::span<const ImageLook> images, const NormalizeConfig& normalize);

// Sentences about images that a network can hardly learn from with this normalisation (which is decided), each with the keys to
// set: hardly any contrast, values far from 0, images of one value, dark ones among others, several depths.
std::vector<std::string> range_notes(std::span<const ImageLook> images, const NormalizeConfig& normalize);

// "60 16-bit (first: a), 4 8-bit (first: b)" for images of several depths, "" for one. depths: of each image, with its name.
std::string several_depths(std::span<const std::pair<std::string, std::string>> depths);

// `data.normalize.mode=range ...` with the numbers of the facts, to paste behind a command.
std::string range_keys(const ImageFacts& facts);

}  // namespace tessera
