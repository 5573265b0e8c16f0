#include "data/datasets/open_data_store.h"

#include "core/byte_count.h"

namespace tessera {

std::shared_ptr<FileStore> open_data_store(const RemoteConfig& remote, const std::string& root) {
  return open_file_store(root, {.cache = remote.cache,
                                .cache_limit = parse_byte_count(remote.cache_limit, "data.remote.cache_limit"),
                                .timeout_s = remote.timeout,
                                .retries = remote.retries});
}

}  // namespace tessera
