#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "storage/zip.h"

namespace tessera {

// The files of a ZIP archive by their paths in it. Hidden files, and what is in __MACOSX, are not there. Immutable.
class ZipTree {
 public:
  ZipTree(Blob file, std::string name);

  // Null where there is none. `path` may go without the one folder in which everything lies.
  const ZipEntry* file(const std::string& path) const;
  bool has_folder(const std::string& path) const;

  // Names and paths of the files below a folder ("" is the archive), in the order of their names; paths are from the folder on.
  std::vector<std::string> files_below(const std::string& folder) const;

  Blob read(const ZipEntry& entry, uint64_t most) const { return zip_.read_checked(entry, most); }

 private:
  using Files = std::map<std::string, const ZipEntry*>;
  // Those below a folder, under the name that the archive has for it.
  std::pair<Files::const_iterator, size_t> first_below(const std::string& folder) const;

  Zip zip_;
  Files files_;
  std::string only_folder_;  // "name/"; empty: there are several, or files beside it
};

}  // namespace tessera
