#include "infer/windows/window_inputs.h"

#include "data/batch/normalize.h"
#include "tensor/upload.h"

namespace tessera {
namespace {

// Images of more bytes go to a GPU window by window.
constexpr size_t kSentWhole = size_t{256} << 20;

at::Tensor normalized(const at::Tensor& pixels, const InputFormat& format) {
  return normalize_images(pixels, format.max_value, format.normalize, format.type);
}

}  // namespace

WindowInputs::WindowInputs(const at::Tensor& images, const WindowGrid& grid, InputFormat format, at::Device device)
    : grid_(grid),
      format_(std::move(format)),
      device_(device),
      by_window_(acts_per_pixel(format_.normalize.mode)),
      pixels_(images) {
  if (!by_window_) {
    pixels_ = normalized(upload(images, device_), format_).permute({0, 2, 3, 1});
  } else if (images.nbytes() <= kSentWhole) {
    pixels_ = upload(images, device_);
  }
}

at::Tensor WindowInputs::of(const std::vector<WindowPlace>& places) const {
  std::vector<at::Tensor> windows;
  for (const WindowPlace& place : places) {
    const at::Tensor image = pixels_.narrow(0, place.image, 1);
    windows.push_back(image.narrow(1, place.y, grid_.rows.size).narrow(2, place.x, grid_.columns.size));
  }
  const at::Tensor joined = upload_joined(windows, device_);
  return by_window_ ? normalized(joined, format_) : joined.permute({0, 3, 1, 2});
}

}  // namespace tessera
