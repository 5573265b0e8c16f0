#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "study/executor/executor.h"
#include "study/executor/slurm_options.h"
#include "study/executor/slurm_states.h"

namespace tessera {

// Note [Jobs of Slurm]
// In a job's folder lie its batch script, the number that sbatch gave it (`slurm_id`), its output, and its exit code, which
// the script writes. How a job stands follows from them first and from Slurm second, since Slurm forgets a job minutes after
// its end where it keeps no accounts:
//   no script                        never started
//   exit code                        it has ended
//   number, or `started/by`          as squeue, or else sacct, says of that number
//   script alone                     sbatch was running when the controller died: squeue is looked through for the job's name
//                                    with the folder as its comment. Not there: Slurm never took it; and should it do so all
//                                    the same, Note [A job starts once]
// One squeue answers for all jobs, and is asked again after poll_s.

// Jobs of a Slurm cluster, a batch job for each. Folders must be seen by all nodes under one path.
class SlurmExecutor final : public Executor {
 public:
  // `program`: what runs the jobs' arguments; this program itself where it is empty.
  explicit SlurmExecutor(SlurmOptions options, std::vector<std::string> program = {});

  // Throws Error with what sbatch said where it refuses.
  void start(const Job& job) override;
  // Where Slurm does not answer a job is as it was last, until patience_s have gone; then throws Error.
  JobStatus poll(const Job& job) override;
  void stop(const Job& job) override;
  std::optional<int> most_at_once(const Job& job) const override;

  // The batch script, for `sbatch FILE`.
  std::string script(const Job& job) const;
  // Writes it into the job's folder, to be submitted by hand. It is the job's from then on.
  void write_script(const Job& job) const;

 private:
  const SlurmJob* find(const Job& job);
  std::optional<std::string> id_of(const Job& job);
  void look(bool anew);
  std::vector<SlurmJob> ask_accounts(const std::string& id);
  JobStatus status_from_slurm(const Job& job);

  SlurmOptions options_;
  std::vector<std::string> program_;
  std::map<std::string, SlurmJob> queue_;     // by number
  std::map<std::string, SlurmJob> accounts_;  // by number, those that are over
  bool has_accounts_ = true;
  double looked_ = -1, answered_ = -1, asked_accounts_ = -1;
  std::map<std::string, double> gone_;  // by name: since when a job is over for Slurm, without an exit code
};

}  // namespace tessera
