// That ranks live: by signs at the rendezvous while they prepare, and by connections between their
// processes while they exchange tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/files/file.h"
#include "base/machine/network.h"
#include "dist/rank_place.h"

namespace c10d {
class Backend;
class Store;
class Work;
}  // namespace c10d

namespace exprun {

// One a rank, at the rendezvous; the ranks watch each other in a ring.
class Heartbeat {
 public:
  explicit Heartbeat(const RankPlace& place);

  // To be called some times a second: gives one, and returns whether the next rank has given none
  // for too many looks. Looks are counted, not time, as all ranks may be paused.
  bool next_is_silent(c10d::Store& store);

  // This rank needs no more of them, nor gives any.
  void end(c10d::Store& store);

 private:
  int rank_, next_;
  int64_t last_ = -1;  // sign of the next rank
  int in_vain_ = 0;    // looks since
  bool ended_ = false;
};

// Whether a process listens at an address, though it may not answer yet.
class Liveness {
 public:
  Liveness(std::string host, uint16_t port) : host_(std::move(host)), port_(port) {}

  // Holds a connection, which ends with the process that listens, and a minute after its machine.
  // Takes a second at most for each address that the host has, and what resolving its name takes.
  bool is_there();

 private:
  bool holds() const;
  void connect();

  std::string host_;
  uint16_t port_;
  UniqueFd connection_;
};

// That the process of the next rank in a ring is there, whatever Gloo makes of its end: an exchange
// that was sending to it may wait on until its time-out. Each process listens for the one before,
// accepts nothing and says nothing; the kernel ends the connection of a process that ends, and a
// minute after its machine. One that is stopped, or has much to do, keeps it.
class ProcessRing {
 public:
  // Throws Error where this process cannot listen.
  explicit ProcessRing(const RankPlace& place);

  // To be called some times a second: whether the next process has ended, though not in order. One
  // that has never been reached is not known to have. Takes as long as Liveness at times.
  bool next_is_gone(c10d::Store& store);

  // This rank needs the others no more: its process may end.
  void leave(c10d::Store& store);

 private:
  void find_next(c10d::Store& store);

  RankPlace place_;
  int next_;
  ListeningSocket listening_;
  bool is_announced_ = false, was_there_ = false, has_left_ = false;
  std::optional<Liveness> next_process_;
};

// Whether the processes of all ranks are there: NCCL does not notice on its own that one of the
// same machine has died. Ranks exchange a word in one round after another, over connections that
// serve nothing else: the kernel closes those of a process that ends, which every round notices at
// once.
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
