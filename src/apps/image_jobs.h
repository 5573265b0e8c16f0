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

// inputs: images, folders of them, patterns, or "-" for a list on stdin, one per line or, where it holds a NUL, ended by NULs.
// An image that an earlier word gave is taken once.
// suffixes: what is written for an image is called NAME + suffix; names are chosen so that these are all different. Throws
// UsageError when a word matches nothing.
std::vector<ImageJob> collect_image_jobs(const std::vector<std::string>& inputs,
                                         const std::vector<std::string>& suffixes = {""});

// Throws UsageError when a file that the jobs would write into `folder` is one of their images.
void check_images_are_kept(const std::vector<ImageJob>& jobs, const std::filesystem::path& folder,
                           const std::vector<std::string>& suffixes);

}  // namespace tessera
