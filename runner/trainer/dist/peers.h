// Whether the processes of all ranks are there. NCCL does not notice on its own that one of the
// same machine has died.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace c10d {
class Backend;
class Work;
}  // namespace c10d

namespace exprun {

// Ranks exchange a word in one round after another, over connections that serve nothing else: the
// kernel closes those of a process that ends, which every round notices at once.
class Peers {
 public:
  enum class Word { here, leaving, failed };

  explicit Peers(c10::intrusive_ptr<c10d::Backend> backend);
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  // Why a rank will not take part any more, or nothing; waits for nobody. The rounds go on as long
  // as every rank looks. Once a rank has left in order nobody looks any longer.
  std::string look();

  // The last word of this rank: said when the others have looked, for which it waits some seconds.
  void leave(Word word);

 private:
  void begin(Word word);
  std::string result();
  void finish();

  c10::intrusive_ptr<c10d::Backend> backend_;
  c10::intrusive_ptr<c10d::Work> round_;  // under way
  at::Tensor said_, heard_;               // one word for, and from, each rank
  bool over_ = false;
};

}  // namespace exprun
