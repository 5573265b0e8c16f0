#pragma once
#include <string>

#include "storage/object_cache.h"
#include "storage/object_service.h"

namespace tessera {

// Brings an object into the cache, as `key`, whole: as many bytes as the server says, of one version. Temporary failures are
// tried again; what had come by then is gone on with, if the object is still the same. known_mark: of the version that is in
// the cache; false: it still is the server's. For who has the object's lock. Throws Error that names object and cause.
bool fetch_object(ObjectService& service, const std::string& name, const std::string& known_mark, ObjectCache& cache,
                  const std::string& key);

}  // namespace tessera
