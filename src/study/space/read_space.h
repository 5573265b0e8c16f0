#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "config/node.h"
#include "study/space/space.h"

namespace tessera {

// The `space:` section of a study's file, a parameter a line:
//
//   optimizer.lr: {log: [1e-4, 1e-1]}
//   optimizer.momentum: {uniform: [0.8, 0.99], step: 0.01}
//   model.name: [unet, pspnet_r50]
//   model.unet.convs: {integer: [1, 3], when: {model.name: unet}}
//   train.seed: {grid: [1, 2, 3]}
//   recipe: {fragments: {small: {train.batch_size: 8}, large: recipes/large.yaml}}
//
// Files of fragments are relative to `folder`. Throws UsageError with file and line.
Space read_space(const Node& section, const std::filesystem::path& folder);

// The same from the command line: "optimizer.lr=log:1e-4:1e-1", "train.batch_size=8,16,32",
// "optimizer.momentum=uniform:0.8:0.99:0.01" (the third number is the step), "train.seed=grid:1,2,3".
Space parse_vary(const std::vector<std::string>& flags);

// The same as a `space:` section, for a study's file.
Node vary_section(const std::vector<std::string>& flags);

// A value as YAML in flow style, on one line, that reads back to the same; ${VAR} stays as it is.
std::string flow_text(const Node& value);

// What a config fragment says, "key=value" each, in the order of its lines.
std::vector<std::string> fragment_overrides(const Node& fragment);

}  // namespace tessera
