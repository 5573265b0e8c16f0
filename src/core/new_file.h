#pragma once
#include <cstdint>
#include <filesystem>
#include <span>

#include "core/access.h"
#include "core/descriptor.h"

namespace tessera {

// Note [Files in the making]
// Whatever is written is written to a file of a random name in the folder where it belongs (.tessera-<16 hex digits>.tmp), made
// by the writer itself (O_EXCL: never one that is there already, so never through a link that somebody put there), flushed, and
// moved to its place. Two writers of one path never share such a file; the later one wins whole. A writer holds a lock on it:
// one that nobody holds is left over from a process that was killed, and `remove_leftovers` takes it away. Downloads, which
// later processes go on with, have a name of their own and `open_own_file`.

// A file on its way to `target`. It goes with the object, unless it was moved.
class NewFile {
 public:
  // Throws Error naming `target` and the system's reason.
  NewFile(std::filesystem::path target, Access access);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::span<const uint8_t> content);

  // Gives it its length before its content comes, for others to see. What is written then fills it from its beginning.
  void reserve(uint64_t bytes);

  // Flushes it to the disk and puts it in the place of `target`. Where a file of this user's was there, its permissions stay.
  void move_to_target();

 private:
  bool make(const std::filesystem::path& folder, Access access);

  std::filesystem::path target_;
  std::filesystem::path own_;
  Descriptor file_;
};

// Removes what killed processes of this user left in `folder`, not in those below it, and nothing that is still being written.
void remove_leftovers(const std::filesystem::path& folder);

// A new folder of a random name that begins with `prefix`, in `parent`. Throws Error.
std::filesystem::path make_new_folder(const std::filesystem::path& parent, const std::string& prefix, Access access);

// Opens a file for writing that this user wrote earlier, or makes it. What is there and is something else (a link, another
// user's file, a second name of one) is removed first. Not ok: errno says why.
Descriptor open_own_file(const std::filesystem::path& path, Access access);

// What symbolic links lead to, be it there or not; `path` itself where it is no link. Throws Error for a link of another user
// (root's are trusted) in a folder where others may put links: it is not this user's choice what lies behind it.
std::filesystem::path follow_links(std::filesystem::path path);

}  // namespace tessera
