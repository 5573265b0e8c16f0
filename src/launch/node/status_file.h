#pragma once
#include <string>

#include "core/rank_status.h"
#include "launch/node/file_handle.h"

namespace tessera {

// Memory in which a rank keeps its status and we read it. It has no name in any folder, so none is left over; the rank gets it
// as an open file.
class StatusFile {
 public:
  StatusFile();
  StatusFile(const StatusFile&) = delete;
  StatusFile& operator=(const StatusFile&) = delete;
  ~StatusFile();

  int fd() const { return file_.fd(); }
  std::string path() const;  // for TESSERA_STATUS_FILE of a process that inherited fd()
  const RankStatus& status() const { return *status_; }

 private:
  FileHandle file_;
  RankStatus* status_ = nullptr;
};

}  // namespace tessera
