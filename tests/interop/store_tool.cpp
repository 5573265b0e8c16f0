// Our side of tests/regression/object_storage.py: a store of files and a bucket from the command line.
//   store_tool open ROOT [--cache DIR] [--limit BYTES] [--timeout S] [--retries N] [--ahead] NAME[,BYTES[,ALGORITHM:HEX]]...
//     prints "NAME BYTES SHA256" of each file, in order; --ahead: all are announced first
//   store_tool list ROOT PREFIX
//   store_tool put ROOT NAME FILE
//   store_tool remove ROOT NAME
//   store_tool copy ROOT FOLDER           a run's folder, every second until standard input ends
//   store_tool fetch ROOT FOLDER          what of it is newer there
//   store_tool run ROOT -                 the folder of a run, fetched where it is in a bucket
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/log.h"
#include "core/split.h"
#include "storage/fetched_run.h"
#include "storage/file_store.h"
#include "storage/folder_copy.h"
#include "storage/place_url.h"
#include "storage/s3_bucket.h"
#include "storage/sha256.h"

namespace tessera {
namespace {

struct Wanted {
  std::string name;
  FileSum sum;
};

Wanted parse_wanted(const std::string& text) {
  const std::vector<std::string> parts = split(text, ',');
  Wanted wanted{.name = parts.at(0), .sum = {}};
  if (parts.size() > 1) wanted.sum.bytes = std::stoll(parts[1]);
  if (parts.size() > 2) {
    const size_t colon = parts[2].find(':');
    wanted.sum.hashes[parts[2].substr(0, colon)] = parts[2].substr(colon + 1);
  }
  return wanted;
}

void open_files(const std::string& root, const std::vector<std::string>& arguments) {
  RemoteOptions options;
  std::vector<Wanted> wanted;
  bool ahead = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--cache") {
      options.cache = arguments.at(++i);
    } else if (arguments[i] == "--limit") {
      options.cache_limit = std::stoll(arguments.at(++i));
    } else if (arguments[i] == "--timeout") {
      options.timeout_s = std::stoll(arguments.at(++i));
    } else if (arguments[i] == "--retries") {
      options.retries = std::stoll(arguments.at(++i));
    } else if (arguments[i] == "--ahead") {
      ahead = true;
    } else {
      wanted.push_back(parse_wanted(arguments[i]));
    }
  }
  const auto store = open_file_store(root, options);
  std::vector<std::string> names;
  for (const Wanted& file : wanted) names.push_back(file.name);
  if (ahead) store->will_need(names);
  for (const Wanted& file : wanted) {
    const Blob content = store->open(file.name, file.sum);
    const std::string_view text(reinterpret_cast<const char*>(content.bytes.data()), content.size());
    fmt::print("{} {} {}\n", file.name, content.size(), sha256_of(text));
    std::fflush(stdout);
  }
}

S3Bucket bucket_of(const std::string& root) {
  return {parse_place(root), s3_settings(settings_of_user()), {.timeout_s = 5, .retries = 8}};
}

void run(const std::vector<std::string>& arguments) {
  TSR_CHECK(arguments.size() >= 3, "usage: store_tool open|list|put|remove ROOT ...");
  const std::string &command = arguments[0], &root = arguments[1];
  if (command == "open") return open_files(root, {arguments.begin() + 2, arguments.end()});
  if (command == "list") {
    for (const std::string& name : open_file_store(root)->list(arguments[2])) fmt::print("{}\n", name);
  } else if (command == "put") {
    S3Bucket bucket = bucket_of(root);
    bucket.put(arguments[2], map_file(arguments.at(3)).bytes);
  } else if (command == "remove") {
    S3Bucket bucket = bucket_of(root);
    bucket.remove(arguments[2]);
  } else if (command == "copy") {
    FolderCopy copy(root, arguments[2], Access::kPrivate);
    copy.newest_checkpoint();
    copy.start(std::chrono::seconds(1));
    while (std::getchar() != EOF) {
    }
    copy.finish(std::chrono::seconds(60));
  } else if (command == "run") {
    fmt::print("{}\n", fetched_run(root).string());
  } else if (command == "fetch") {
    FolderCopy copy(root, arguments[2], Access::kPrivate);
    fmt::print("{}\n", copy.fetch_newer() ? "fetched" : "nothing newer");
  } else {
    fail("no command {}", command);
  }
}

}  // namespace
}  // namespace tessera

int main(int count, char** values) {
  try {
    tessera::run({values + 1, values + count});
    return 0;
  } catch (const std::exception& e) {
    tessera::log_error("{}", e.what());
    return 1;
  }
}
