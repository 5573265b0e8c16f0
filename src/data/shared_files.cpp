#include "data/shared_files.h"

#include <map>
#include <unordered_map>

#include "core/files.h"

namespace tessera {
namespace {

// Names that differ for files that differ: the real path of a folder is asked for once, whatever it holds.
class RealNames {
 public:
  // Empty where the sample is in no file.
  std::string of(const fs::path& file) {
    if (file.empty()) return "";
    const auto [place, is_new] = folders_.try_emplace(file.parent_path());
    std::error_code error;
    if (is_new) place->second = fs::weakly_canonical(fs::absolute(place->first, error), error);
    return (place->second / file.filename()).string();
  }

 private:
  std::map<fs::path, fs::path> folders_;
};

}  // namespace

std::vector<std::pair<std::string, std::string>> shared_files(const Dataset& train, const Dataset& val) {
  RealNames names;
  std::unordered_map<std::string, int64_t> trained;
  for (int64_t i = 0; i < train.size(); ++i) trained.emplace(names.of(train.image_file(i)), i);
  trained.erase("");
  std::vector<std::pair<std::string, std::string>> shared;
  for (int64_t i = 0; i < val.size(); ++i) {
    const auto found = trained.find(names.of(val.image_file(i)));
    if (found != trained.end()) shared.emplace_back(train.id(found->second), val.id(i));
  }
  return shared;
}

}  // namespace tessera
