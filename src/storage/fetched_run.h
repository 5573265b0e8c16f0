#pragma once
#include <filesystem>
#include <string>

namespace tessera {

// A run that is copied to a bucket (Note [Copy of a run]), as a folder here: its newest and its best checkpoint and its other
// files, in cache_folder()/runs. A copy that was fetched before is taken if it still is the bucket's. A path is given back as
// it is. Throws Error where there is no complete checkpoint, UsageError where the URL is of no bucket.
std::filesystem::path fetched_run(const std::string& path_or_url);

}  // namespace tessera
