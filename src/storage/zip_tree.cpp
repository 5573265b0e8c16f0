#include "storage/zip_tree.h"

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

bool is_hidden(std::string_view path) {
  return path.starts_with('.') || path.find("/.") != std::string_view::npos || path.starts_with("__MACOSX/");
}

}  // namespace

ZipTree::ZipTree(Blob file, std::string name) : zip_(std::move(file), std::move(name)) {
  for (const ZipEntry& entry : zip_.entries()) {
    std::string path = entry.name;
    std::replace(path.begin(), path.end(), '\\', '/');  // as some programs on Windows write it
    while (path.starts_with("./")) path.erase(0, 2);
    if (path.empty() || path.ends_with('/') || path.starts_with('/') || is_hidden(path)) continue;
    files_.emplace(std::move(path), &entry);
  }
  if (files_.empty()) return;
  const std::string& first = files_.begin()->first;
  const std::string folder = first.substr(0, first.find('/') + 1);
  if (!folder.empty() && files_.rbegin()->first.starts_with(folder)) only_folder_ = folder;
}

const ZipEntry* ZipTree::file(const std::string& path) const {
  for (const std::string& candidate : {path, only_folder_ + path}) {
    if (const auto found = files_.find(candidate); found != files_.end()) return found->second;
  }
  return nullptr;
}

std::pair<ZipTree::Files::const_iterator, size_t> ZipTree::first_below(const std::string& folder) const {
  const std::string below = folder.empty() ? "" : folder + "/";
  for (const std::string& candidate : {only_folder_ + below, below}) {
    const auto found = files_.lower_bound(candidate);
    if (found != files_.end() && found->first.starts_with(candidate)) return {found, candidate.size()};
  }
  return {files_.end(), 0};
}

bool ZipTree::has_folder(const std::string& path) const {
  return path.empty() || first_below(path).first != files_.end();
}

std::vector<std::string> ZipTree::files_below(const std::string& folder) const {
  const auto [first, length] = first_below(folder);
  std::vector<std::string> paths;
  if (first == files_.end()) return paths;
  const std::string below = first->first.substr(0, length);
  for (auto at = first; at != files_.end() && at->first.starts_with(below); ++at) paths.push_back(at->first.substr(length));
  return paths;
}

}  // namespace tessera
