#pragma once
#include <optional>
#include <string>

#include "data/datasets/layout.h"

namespace tessera {

// The layouts of well-known data sets, which have names and files of their own: see Note [Layouts]. Nothing where the folder is
// another.
std::optional<Layout> cityscapes(const fs::path& root);
std::optional<Layout> pascal_voc(const fs::path& root);

// nnU-Net ends the name of an image by its channel: "_0000" where all images end so, else "". Throws Error where cases have
// several.
std::string channel_ending(const fs::path& images);

}  // namespace tessera
