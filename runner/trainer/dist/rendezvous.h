// Where ranks find each other: a small key-value store that all of them can reach.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

#include "dist/failures/membership.h"
#include "dist/rank_place.h"

namespace c10d {
class Store;
}

namespace exprun {

class Rendezvous {
 public:
  // Rank 0 serves the store, unless an external launcher does, and does not wait for the others;
  // they connect to the server. Throws Error when they cannot within seconds.
  explicit Rendezvous(RankPlace place);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  const RankPlace& place() const { return place_; }

  void set(const std::string& key, const std::string& text);
  // Waits until some rank has set it, by default for RankPlace::handshake_timeout. Throws Error,
  // also when a rank asks all to report meanwhile.
  std::string get(const std::string& key,
                  std::optional<std::chrono::milliseconds> patience = std::nullopt);
  bool has(const std::string& key);     // whether some rank has set it
  void forget(const std::string& key);  // as if none had

  // The store of an external launcher outlives the ranks, so there each start of rank 0 is a round
  // with a part of the store to itself. The others enter the newest round; false if there is none.
  bool enter_newest_round();
  bool is_newest_round();  // always where rank 0 serves the store itself

  // This rank's membership, which begins with the first call: every rank calls it once all have
  // joined, as from then on it must send heartbeats.
  const std::shared_ptr<Membership>& membership();

  const c10::intrusive_ptr<c10d::Store>& store() const { return store_; }

 private:
  int64_t newest_round();
  void enter(int64_t round);

  RankPlace place_;
  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<c10d::Store> launchers_store_;  // the whole of it
  int64_t round_ = 0;
  std::shared_ptr<Membership> membership_;
};

}  // namespace exprun
