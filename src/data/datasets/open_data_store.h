#pragma once
#include <memory>
#include <string>

#include "config/data_config.h"
#include "storage/file_store.h"

namespace tessera {

// The files of a folder or URL, fetched and cached as data.remote says. Throws UsageError or Error.
std::shared_ptr<FileStore> open_data_store(const RemoteConfig& remote, const std::string& root);

}  // namespace tessera
