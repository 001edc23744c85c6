// Large blocks of memory that are used again. The C library gives what is larger than 32 MiB back
// to the system at each free, and the top of its heap: each forward pass then has its memory
// zeroed by the system page by page, which can take longer than a matrix product that fills it.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <unordered_map>

namespace exprun {

// Any thread may call it.
class BlockCache {
 public:
  BlockCache() = default;
  ~BlockCache();  // gives back what is idle; what is in use stays valid
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // At least so many bytes, aligned to a page, with any content; null where the system gives none.
  void* take(size_t bytes);
  // False for what take() has not given.
  bool put(void* block);

  // A round ends, a step of training: what was idle in all of two goes back to the system.
  void end_round();
  void give_back_idle();

  size_t idle_bytes() const;

 private:
  struct Idle {
    void* block;
    long round;  // in which it became idle
  };
  using IdleBlocks = std::multimap<size_t, Idle>;  // by size, of equal ones the last used last

  void* take_idle(size_t bytes);
  void make_room(size_t bytes);
  IdleBlocks::iterator give_back(IdleBlocks::iterator idle);

  mutable std::mutex mutex_;
  std::unordered_map<void*, size_t> in_use_;  // and their sizes
  IdleBlocks idle_;
  long round_ = 0;
};

}  // namespace exprun
