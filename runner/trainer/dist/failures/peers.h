// Whether the processes of all ranks are there: while GPUs exchange tensors (NCCL), since NCCL does
// not notice on its own that a process of the same machine has died. The ranks exchange their
// status in one round after another, over Gloo connections that serve nothing else: the kernel
// closes those of a process that ends, which every round notices at once. DeviceWatch (watchdog.h)
// looks.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace c10d {
class Backend;
class Work;
}  // namespace c10d

namespace exprun {

class Peers {
 public:
  enum class Status { present, leaving, failed };

  explicit Peers(c10::intrusive_ptr<c10d::Backend> backend);
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  // Why a rank will not take part any more, or nothing; waits for nobody. The rounds go on as long
  // as every rank looks. Once a rank has left in order, none looks any longer.
  std::string look();

  // The last status of this rank: sent when the others have looked, for which it waits some
  // seconds.
  void leave(Status status);

 private:
  void begin(Status status);
  std::string result();
  void finish();

  c10::intrusive_ptr<c10d::Backend> backend_;
  c10::intrusive_ptr<c10d::Work> round_;  // under way
  at::Tensor sent_, received_;            // one status to, and from, each rank
  bool over_ = false;
};

}  // namespace exprun
