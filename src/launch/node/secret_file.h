#pragma once
#include <string>

#include "launch/node/file_handle.h"

namespace tessera {

// The job's secret where the ranks of this host find it: in memory of this process that has no name in any folder, which only
// processes of the same user can open, and only as long as we live. An environment or a command line would show up in logs.
class SecretFile {
 public:
  explicit SecretFile(const std::string& secret);
  std::string path() const;  // for TESSERA_JOB_SECRET_FILE; also good for what a rank starts in turn

 private:
  FileHandle file_;
};

}  // namespace tessera
