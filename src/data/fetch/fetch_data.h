#pragma once
#include <filesystem>
#include <string>

#include "config/data_config.h"
#include "data/fetch/public_data.h"

namespace tessera {

// Note [Fetching]
// All work for a data set DIR/NAME is done in DIR/NAME.fetch: ARCHIVE.part while it comes, ARCHIVE.checked when it has,
// unpacking-N while it is unpacked, unpacked-N once it was and the disk has it, whole while the parts are put together. NAME
// appears by one rename at the end, so it is never seen in part; a process that is killed anywhere leaves what a later call
// goes on with. DIR/NAME.fetch.lock is held meanwhile: one process of all that want it works, the others wait. An archive that
// a person put into NAME.fetch under its own name is taken instead of being downloaded, after the same checks, and stays.

// Whether all that the data set must have is below `root`.
bool is_fetched(const PublicData& data, const std::filesystem::path& root);

// Makes the data set at `root`, unless it is there. `keep`: the archives stay in NAME.fetch. Throws Error: what could not be
// had, where to put it by hand; UsageError where `root` is there and something else.
void fetch_data(const PublicData& data, const std::filesystem::path& root, bool keep = false);

// What data.fetch asks for, where data.path is not there yet. Throws as fetch_data; UsageError for an unknown name.
void fetch_if_asked(const DataConfig& config);

// "; `tessera data fetch NAME --to DIR` gets it ..." where `path` is called as a known data set is, else "".
std::string fetch_hint(const std::filesystem::path& path);

}  // namespace tessera
