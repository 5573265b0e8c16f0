#include "infer/windows/window_inputs.h"

#include "data/batch/normalize.h"
#include "data/batch/stored_pixels.h"
#include "tensor/upload.h"

namespace tessera {
namespace {

// Images of more bytes go to a GPU window by window.
constexpr size_t kSentWhole = size_t{256} << 20;

}  // namespace

WindowInputs::WindowInputs(const at::Tensor& images, const WindowGrid& grid, InputFormat format, at::Device device)
    : grid_(grid),
      format_(std::move(format)),
      device_(device),
      pixels_(images.nbytes() <= kSentWhole ? upload(images, device) : images) {
  const at::ScalarType compute = format_.type == at::kDouble ? at::kDouble : at::kFloat;
  statistics_ = image_statistics(pixels_, format_.channels, format_.max_value, format_.normalize, compute);
  if (statistics_.defined()) statistics_ = {upload(statistics_.shift, device), upload(statistics_.range, device)};
}

at::Tensor WindowInputs::of(const std::vector<WindowPlace>& places) const {
  std::vector<at::Tensor> windows;
  std::vector<int64_t> images;
  for (const WindowPlace& place : places) {
    images.push_back(place.image);
    const at::Tensor image = pixels_.narrow(0, place.image, 1);
    windows.push_back(image.narrow(1, place.y, grid_.rows.size).narrow(2, place.x, grid_.columns.size));
  }
  const at::Tensor pixels = network_pixels(upload_joined(windows, device_), format_.channels);
  return normalize_images(pixels, format_.max_value, format_.normalize, format_.type, statistics_.of(images));
}

}  // namespace tessera
