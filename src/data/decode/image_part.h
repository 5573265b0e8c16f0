#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/image.h"
#include "core/pixel_area.h"
#include "data/decode/decode.h"

namespace tessera {

// Some of the pixels of an image: those that decode_image would give, from (top, left) of the whole on.
struct ImagePart {
  Image image;
  int top = 0, left = 0;
};

// An image file of which parts are decoded: sequential JPEGs of grey or colours that are not turned. Others are decoded whole
// when their size is asked for. What is wrong with a file is found wherever in it, whatever is asked for; but the message may
// be another one than that of decode_image.
class PartialImage {
 public:
  // The bytes must outlive the object.
  PartialImage(std::span<const uint8_t> bytes, const DecodeOptions& options);
  ~PartialImage();

  Size size() const;

  // At least the pixels of `area`, which lies within the image and may be empty. To be called once. memory: taken for the
  // pixels, so that its caller can use it again.
  ImagePart decode(const PixelArea& area, std::vector<uint8_t> memory = {});

 private:
  class Jpeg;
  std::unique_ptr<Jpeg> jpeg_;  // null: all of it is in `whole_`
  Image whole_;
  int channels_;
};

}  // namespace tessera
