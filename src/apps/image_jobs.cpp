#include "apps/image_jobs.h"

#include <glob.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <set>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include "core/error.h"
#include "core/files.h"
#include "data/datasets/pair_matching.h"

namespace tessera {
namespace {

std::vector<ImageJob> matches(const std::string& input) {
  std::vector<ImageJob> jobs;
  std::error_code error;
  if (fs::is_directory(input, error)) {
    // By the text of the paths: fs::relative would follow a linked image out of the folder, and its result with it.
    for (const fs::path& file : list_files(input)) {
      if (is_image_file(file)) jobs.push_back({file, file.lexically_relative(input).replace_extension()});
    }
  } else if (fs::exists(input, error)) {
    jobs.push_back({input, fs::path(input).stem()});
  } else {
    glob_t found{};
    if (::glob(input.c_str(), GLOB_TILDE, nullptr, &found) == 0) {
      for (size_t i = 0; i < found.gl_pathc; ++i) jobs.push_back({found.gl_pathv[i], fs::path(found.gl_pathv[i]).stem()});
    }
    const bool none = found.gl_pathc == 0;
    ::globfree(&found);
    if (none) fail_usage("no image, folder or pattern matches '{}'", input);
  }
  return jobs;
}

// Through all links, as far as the path exists. A link in a loop is no reason to stop: its image is reported as unreadable.
fs::path real_path(const fs::path& path) {
  std::error_code error;
  fs::path real = fs::weakly_canonical(fs::absolute(path), error);
  return error ? fs::absolute(path).lexically_normal() : real;
}

// One text for all ways to write a path. Links to a file stay apart: a folder may hold one picture under two names.
fs::path place_of(const fs::path& image) {
  const fs::path absolute = fs::absolute(image);
  return real_path(absolute.parent_path()) / absolute.filename();
}

// The images of a word that no earlier one gave.
void add_input(const std::string& input, std::set<fs::path>& seen, std::vector<ImageJob>& jobs) {
  std::vector<fs::path> places;
  for (ImageJob& job : matches(input)) {
    fs::path place = place_of(job.image);
    if (seen.count(place) > 0) continue;
    places.push_back(std::move(place));
    jobs.push_back(std::move(job));
  }
  seen.insert(places.begin(), places.end());
}

// One name per line; where there is a NUL, one before each of them, taken as it is (`find -print0`).
std::vector<std::string> read_names(std::istream& list) {
  std::string text(std::istreambuf_iterator<char>(list), {});
  const bool with_nuls = text.find('\0') != std::string::npos;
  std::istringstream rest(std::move(text));
  std::vector<std::string> names;
  for (std::string name; std::getline(rest, name, with_nuls ? '\0' : '\n');) {
    if (!with_nuls && name.ends_with('\r')) name.pop_back();  // a list that was made on Windows
    if (!name.empty()) names.push_back(std::move(name));
  }
  return names;
}

// Which jobs would write a file that another one writes too.
std::vector<bool> find_clashes(const std::vector<ImageJob>& jobs, const std::vector<std::string>& suffixes) {
  std::unordered_map<std::string, int> writers;
  for (const ImageJob& job : jobs) {
    for (const std::string& suffix : suffixes) ++writers[job.name.string() + suffix];
  }
  std::vector<bool> clashes;
  for (const ImageJob& job : jobs) {
    clashes.push_back(std::any_of(suffixes.begin(), suffixes.end(),
                                  [&](const std::string& suffix) { return writers[job.name.string() + suffix] > 1; }));
  }
  return clashes;
}

// a.jpg and a.png must not write one result: then the extension stays in the name. This may meet a further image's name
// (a_jpg.png), so it is done until nothing changes.
void keep_extensions(std::vector<ImageJob>& jobs, const std::vector<std::string>& suffixes) {
  std::vector<bool> kept(jobs.size());
  for (bool changed = true; changed;) {
    changed = false;
    const std::vector<bool> clashes = find_clashes(jobs, suffixes);
    for (size_t i = 0; i < jobs.size(); ++i) {
      if (!clashes[i] || kept[i]) continue;
      kept[i] = changed = true;
      const std::string extension = jobs[i].image.extension().string();
      if (!extension.empty()) jobs[i].name += "_" + extension.substr(1);
    }
  }
}

// What still clashes, such as x/a.jpg and y/a.jpg, is numbered from the second one on.
void number_the_rest(std::vector<ImageJob>& jobs, const std::vector<std::string>& suffixes) {
  const std::vector<bool> clashes = find_clashes(jobs, suffixes);
  std::unordered_set<std::string> taken;
  const auto take = [&](const std::string& name) {
    const auto is_taken = [&](const std::string& suffix) { return taken.count(name + suffix) > 0; };
    if (std::any_of(suffixes.begin(), suffixes.end(), is_taken)) return false;
    for (const std::string& suffix : suffixes) taken.insert(name + suffix);
    return true;
  };
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (!clashes[i]) take(jobs[i].name.string());
  }
  std::unordered_map<std::string, int> numbers;  // the last one given to a name
  for (size_t i = 0; i < jobs.size(); ++i) {
    const std::string name = jobs[i].name.string();
    if (!clashes[i] || take(name)) continue;
    int& number = numbers.try_emplace(name, 1).first->second;
    do {
      jobs[i].name = name + "_" + std::to_string(++number);
    } while (!take(jobs[i].name.string()));
  }
}

}  // namespace

std::vector<ImageJob> collect_image_jobs(const std::vector<std::string>& inputs, const std::vector<std::string>& suffixes) {
  std::vector<ImageJob> jobs;
  std::set<fs::path> seen;
  for (const std::string& input : inputs) {
    if (input == "-") {
      for (const std::string& name : read_names(std::cin)) add_input(name, seen, jobs);
    } else {
      add_input(input, seen, jobs);
    }
  }
  if (jobs.empty())
    fail_usage("no images found; expected files ending in {}, folders of them, or a list on stdin with '-'",
               image_extensions());
  keep_extensions(jobs, suffixes);
  number_the_rest(jobs, suffixes);
  return jobs;
}

void check_images_are_kept(const std::vector<ImageJob>& jobs, const fs::path& folder,
                           const std::vector<std::string>& suffixes) {
  // A linked image is the link and what it leads to.
  std::set<fs::path> images;
  for (const ImageJob& job : jobs) {
    images.insert(place_of(job.image));
    images.insert(real_path(job.image));
  }
  for (const ImageJob& job : jobs) {
    for (const std::string& suffix : suffixes) {
      const fs::path result = folder / (job.name.string() + suffix);
      if (images.count(place_of(result)) + images.count(real_path(result)) > 0)
        fail_usage("the result {} would replace an input image; choose another folder with --output", result.string());
    }
  }
}

}  // namespace tessera
