#pragma once
#include <optional>
#include <string>

#include "core/error.h"
#include "core/image.h"
#include "core/printable.h"

namespace tessera {

// Where the original image lies inside a processed one, so that a prediction can be taken back to the original pixels.
struct Placement {
  Size original;                 // before any transform
  double y = 0, x = 0;           // top left corner of the content, as it lies in the processed image
  double height = 0, width = 0;  // of the content
  bool flipped = false;          // the content is the original's mirror image, left and right exchanged
  bool complete = true;          // false once a crop or a rotation has lost pixels
};

// The placement of an image that nothing was done to: it fills its own frame.
inline Placement whole_image(Size size) {
  Placement placement;
  placement.original = size;
  placement.height = size.height;
  placement.width = size.width;
  return placement;
}

// One image with its labels on its way from the source to a batch.
struct Sample {
  std::string id;  // what messages and predictions name it by
  Image image;
  std::optional<LabelMap> labels;  // absent when predicting
  Placement placement;
  std::optional<ColorChange> color = {};  // still to be done to the image, by who makes it network input
};

// A sample that cannot be used: unreadable, truncated, mask of another size, label out of range. Expected in real data:
// the loader quarantines it, `data check` lists it, nothing else catches it.
class BadSample : public Error {
 public:
  BadSample(std::string id, const std::string& reason)
      : Error(printable(id) + ": " + reason), id_(std::move(id)), reason_(reason) {}
  const std::string& id() const { return id_; }
  const std::string& reason() const { return reason_; }

 private:
  std::string id_;
  std::string reason_;
};

}  // namespace tessera
