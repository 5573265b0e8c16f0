#pragma once
#include <string>

#include "storage/blob.h"

namespace tessera {

// A sample as its source stores it: the bytes of an image file and of its mask file. The names say where the bytes came from
// when something is wrong with them: a file, or a place in an archive.
struct EncodedSample {
  std::string id;
  Blob image;
  std::string image_name;
  Blob labels;  // empty: there are none
  std::string labels_name;
};

}  // namespace tessera
