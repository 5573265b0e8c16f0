#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/files.h"
#include "launch/cluster/rank_environment.h"

namespace tessera {

// Note [Secret of a scheduler's job]
// srun and mpirun start every process of a job alike and hand them nothing that others may not know. So the first process
// leaves a secret in a file that only its user can read, in a folder all of them see: the one they were started in, else the
// one the job was submitted from, else home. It does so before it listens anywhere, so whoever has found it finds the file. The
// file goes as soon as all have proven that they read it. One that a killed job left behind is used again: it is as secret as
// a new one, and nobody can have read another text from it.
class SharedSecret {
 public:
  SharedSecret(const std::string& job, std::vector<fs::path> folders);
  SharedSecret(const SharedSecret&) = delete;
  SharedSecret& operator=(const SharedSecret&) = delete;
  ~SharedSecret() { remove(); }

  std::string create();                     // by the first process; throws Error where no folder takes the file
  std::optional<std::string> read() const;  // by the others; nothing if it is not there, or not only ours
  void remove();                            // what create() made; others leave the file alone
  std::string places() const;               // where it is looked for

 private:
  std::vector<fs::path> paths_;
  fs::path created_;
};

// A name that the processes of one srun or of one Open MPI's mpirun share and other jobs do not have; "" under none.
std::string scheduler_job(const RankVariables& variables);

// Where the processes of that job look for its secret.
std::vector<fs::path> job_folders(const RankVariables& variables);

}  // namespace tessera
