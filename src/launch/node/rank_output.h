#pragma once
#include <memory>
#include <string>

#include "core/files.h"
#include "launch/node/file_handle.h"

namespace tessera {

// Where a rank's lines are shown besides its log: nowhere, as they are, or with "[rank 3] " before each.
enum class Show { kNothing, kPlain, kPrefixed };

// The file one rank's output goes to, and the terminal. Both streams share the file, in the order they came.
class RankOutput {
 public:
  RankOutput(int rank, const fs::path& log, bool append, Show show);

  // Takes what can be read now from one of the rank's pipes, which do not block. False once the pipe is closed.
  bool take(int fd, bool is_error);

  // The last line that was not empty, of stderr if there was any: what a program says before it dies.
  std::string last_line() const;

 private:
  void write_log(std::string_view text);
  void show(std::string_view text, bool is_error);

  struct Stream {
    std::string pending;  // the beginning of a line
    std::string last;     // the last whole line
  };
  int rank_;
  fs::path log_path_;
  FileHandle log_;
  Show show_;
  Stream streams_[2];  // stdout, stderr
};

fs::path rank_log_path(const fs::path& folder, int rank);  // rank-07.log

}  // namespace tessera
