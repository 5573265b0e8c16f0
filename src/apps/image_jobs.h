#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace tessera {

// An image to work on and the name of its result, relative to the output folder and without extension.
struct ImageJob {
  std::filesystem::path image;
  std::filesystem::path name;
};

// inputs: images, folders of them, patterns, or "-" for a list on stdin. Names are unique. Throws UsageError when a word
// matches nothing.
std::vector<ImageJob> collect_image_jobs(const std::vector<std::string>& inputs);

}  // namespace tessera
