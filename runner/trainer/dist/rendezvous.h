// Where ranks meet: a small key-value store that all of them reach.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

#include "dist/rank_place.h"
#include "dist/roll_call.h"

namespace c10d {
class Store;
}

namespace exprun {

class Rendezvous {
 public:
  // Rank 0 serves it, if nobody else does, and waits for nobody; the others connect. Throws Error
  // when they cannot within the time-out.
  explicit Rendezvous(RankPlace place);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  const RankPlace& place() const { return place_; }

  void set(const std::string& key, const std::string& text);
  // Waits until some rank has set it, as long as for the meeting if nothing else is said. Throws
  // Error, also when the roll is called meanwhile.
  std::string get(const std::string& key,
                  std::optional<std::chrono::milliseconds> patience = std::nullopt);
  bool has(const std::string& key);  // whether some rank has set it

  // This rank's part in it, from the first time on that it is asked for: every rank does when all
  // have met, as from then on it must give signs of life.
  const std::shared_ptr<RollCall>& roll_call();

  const c10::intrusive_ptr<c10d::Store>& store() const { return store_; }

 private:
  RankPlace place_;
  c10::intrusive_ptr<c10d::Store> store_;
  std::shared_ptr<RollCall> roll_call_;
};

}  // namespace exprun
