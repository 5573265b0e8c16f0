#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>

namespace tessera {

// Makes TO/images/ID.png and TO/masks/ID.png of every folder ID below `from` that holds images/ (one file) and masks/ (one file
// for each object): a pixel is 255 where any object is, else 0. Images are linked, not copied, where that can be. `step` is
// called with done and all. Throws Error for a mask that cannot be read or is of another size than the others of its image, and
// where there is no such folder.
void merge_objects(const std::filesystem::path& from, const std::filesystem::path& to,
                   const std::function<void(int64_t done, int64_t all)>& step);

}  // namespace tessera
