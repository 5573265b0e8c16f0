#include "weights/formats/load_weights.h"

#include <array>
#include <string_view>

#include "core/error.h"
#include "core/files.h"
#include "core/npy_header.h"
#include "storage/zip.h"
#include "weights/formats/npz.h"
#include "weights/formats/pth.h"
#include "weights/formats/pth_file.h"
#include "weights/formats/safetensors_header.h"
#include "weights/formats/sharded_safetensors.h"

namespace tessera {
namespace {

struct Stranger {
  std::string_view start, message;
};

// What people mistake for weights most often.
constexpr std::array<Stranger, 8> kStrangers{{
    {"<!DOCTYPE", "a web page: the download gave an error page or needs a login"},
    {"<html", "a web page: the download gave an error page or needs a login"},
    {"version https://git-lfs", "a Git LFS pointer, not the file itself: run `git lfs pull`"},
    {"\x89HDF", "an HDF5 file (Keras .h5): save the weights as .npz or safetensors"},
    {"\x1f\x8b", "gzip-compressed: unpack it first"},
    {"\x80\x02", "a bare pickle: load it in Python and save the tensors with torch.save or as safetensors"},
    {"\x80\x04", "a bare pickle: load it in Python and save the tensors with torch.save or as safetensors"},
    {"\x80\x05", "a bare pickle: load it in Python and save the tensors with torch.save or as safetensors"},
}};

LoadedFile load_zip(const Blob& file, const std::string& name) {
  const Zip zip(file, name);
  for (const ZipEntry& entry : zip.entries()) {
    if (entry.name.ends_with("data.pkl")) return load_pth(file, name);
  }
  for (const ZipEntry& entry : zip.entries()) {
    if (entry.name.ends_with(".npy")) return load_npz(file, name);
  }
  fail("{} is a ZIP file, but neither one of torch.save (data.pkl) nor of NumPy (*.npy)", name);
}

// A sharded set by its index; else what Hugging Face's save_pretrained() leaves, the only safetensors file of a folder.
fs::path file_of_folder(const fs::path& folder) {
  std::vector<fs::path> indexes, files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().string();
    if (name.ends_with(".safetensors.index.json")) indexes.push_back(entry.path());
    if (name.ends_with(".safetensors")) files.push_back(entry.path());
  }
  TSR_CHECK(indexes.size() < 2, "{} holds several safetensors indexes; name one", folder.string());
  if (indexes.size() == 1) return indexes.front();
  TSR_CHECK(files.size() == 1,
            "{} is a folder without a *.safetensors.index.json and with {} safetensors files; name the weight file",
            folder.string(), files.size());
  return files.front();
}

}  // namespace

LoadedFile parse_weights(const Blob& file, const std::string& name) {
  if (looks_like_zip(file.bytes)) return load_zip(file, name);
  if (looks_like_legacy_pth(file.bytes)) return load_pth(file, name);
  if (looks_like_npy(file.bytes)) return load_npy(file, name);
  if (looks_like_safetensors(file.bytes)) return load_safetensors(file, name);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes.data()), file.size());
  for (const Stranger& stranger : kStrangers) {
    TSR_CHECK(!text.starts_with(stranger.start), "{} is {}", name, stranger.message);
  }
  fail("{} ({} bytes) is no weight file we know: expected one of torch.save, safetensors, its index, .npz or .npy", name,
       file.size());
}

LoadedFile read_weights(const std::filesystem::path& path) {
  if (fs::is_directory(path)) return read_weights(file_of_folder(path));
  const Blob file = map_file(path);
  if (file.size() > 0 && file.bytes[0] == '{') return load_sharded_safetensors(path);
  return parse_weights(file, path.string());
}

}  // namespace tessera
