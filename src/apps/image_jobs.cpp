#include "apps/image_jobs.h"

#include <glob.h>

#include <iostream>
#include <set>

#include "core/error.h"
#include "core/files.h"

namespace tessera {
namespace {

bool is_image_name(const fs::path& path) {
  static const std::set<std::string> known{".jpg", ".jpeg", ".png", ".tif", ".tiff"};
  return known.count(lower(path.extension().string())) > 0;
}

void add_input(const std::string& input, std::vector<ImageJob>& jobs) {
  std::error_code error;
  if (fs::is_directory(input, error)) {
    for (const fs::path& file : list_files(input)) {
      if (is_image_name(file)) jobs.push_back({file, fs::relative(file, input).replace_extension()});
    }
  } else if (fs::exists(input, error)) {
    jobs.push_back({input, fs::path(input).stem()});
  } else {
    glob_t found{};
    if (::glob(input.c_str(), GLOB_TILDE, nullptr, &found) == 0) {
      for (size_t i = 0; i < found.gl_pathc; ++i) jobs.push_back({found.gl_pathv[i], fs::path(found.gl_pathv[i]).stem()});
    }
    ::globfree(&found);
    if (found.gl_pathc == 0) fail_usage("no image, folder or pattern matches '{}'", input);
  }
}

}  // namespace

std::vector<ImageJob> collect_image_jobs(const std::vector<std::string>& inputs) {
  std::vector<ImageJob> jobs;
  for (const std::string& input : inputs) {
    if (input == "-") {
      for (std::string line; std::getline(std::cin, line);) {
        if (!line.empty()) add_input(line, jobs);
      }
    } else {
      add_input(input, jobs);
    }
  }
  if (jobs.empty())
    fail_usage("no images found; expected .jpg, .png or .tif files, folders of them, or a list on stdin with '-'");
  // a.jpg and a.png must not write one result: then the extension stays in the name.
  std::multiset<fs::path> names;
  for (const ImageJob& job : jobs) names.insert(job.name);
  for (ImageJob& job : jobs) {
    if (names.count(job.name) > 1) job.name += "_" + job.image.extension().string().substr(job.image.has_extension() ? 1 : 0);
  }
  return jobs;
}

}  // namespace tessera
