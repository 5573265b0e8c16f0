#pragma once
#include <filesystem>
#include <string>

namespace tessera {

// A weight file somewhere else, and its place in the cache.
struct WeightSource {
  std::string name;            // as the user wrote it
  std::string url;             // http(s)://, s3:// or gs://
  std::string sha256;          // the digits that are known of it, from the first on; all 64 of a URL's, may be none
  std::filesystem::path file;  // in the cache
};

// A name of the zoo, or a URL; "#sha256=" and 64 digits at a URL's end are checked. Throws UsageError for a name that is not
// known, and for a URL that names no file or whose credentials are masked.
WeightSource find_source(const std::string& text);

// The file, downloaded if it is not there. Processes that want the same file wait for the first. Nothing is called by the
// file's name before its SHA-256 was checked, and that goes for a file put there by hand too, and for one that is no longer as
// it was (size, times, inode). Where no checksum is published, that of the first download is noted (FILE.seen.json), said, and
// checked from then on. Throws Error that names the URL and where to put the file by hand.
//
// Who can write to the cache can put both a file and its note there. A cache that is made here is its user's alone; one that is
// there already stays open to whom it is.
std::filesystem::path fetch_weights(const WeightSource& source);

// Is it there, whole and checked?
bool is_cached(const WeightSource& source);

// What model.pretrained means: a file or folder of this machine as it is, a name or a URL fetched.
std::filesystem::path find_weights(const std::string& text);

// Weights, and which of several models in them: "run.ckpt#model_ema" is the part "model_ema" of "run.ckpt". A file that is
// called so, and the checksum of a URL, stay with the source.
struct NamedPart {
  std::string source, part;
};
NamedPart split_part(const std::string& text);

}  // namespace tessera
