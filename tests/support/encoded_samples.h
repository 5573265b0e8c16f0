#pragma once
#include <string>
#include <vector>

#include "data/encoded_sample.h"

namespace tessera::testing {

// A sample whose image and labels are these bytes; "" for none.
inline EncodedSample encoded_sample(const std::string& id, const std::string& image, const std::string& labels) {
  return {id, own_bytes({image.begin(), image.end()}), "", labels.empty() ? Blob{} : own_bytes({labels.begin(), labels.end()}),
          ""};
}

inline std::string text_of(const Blob& blob) {
  return {blob.bytes.begin(), blob.bytes.end()};
}

}  // namespace tessera::testing
