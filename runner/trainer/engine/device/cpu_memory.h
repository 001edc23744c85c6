// Memory of a CPU's tensors: that of large ones is kept for the next.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <mutex>
#include <unordered_map>

namespace exprun {

// Once, before the first tensor. Without it, the others do nothing.
void keep_cpu_memory();

// A step has ended: what the last ones did not use goes back to the system.
void end_round_of_cpu_memory();

// Other work begins, which needs other sizes: all that is not in use goes back.
void give_back_idle_cpu_memory();

// Large blocks of memory that are used again. The C library gives what is larger than 32 MiB back
// to the system at each free, and the top of its heap: each forward pass then has its memory
// zeroed by the system page by page, which can take longer than a matrix product that fills it.

// Any thread may call it. In use and idle together are at most what was in use at once in this
// round or the last, and half of that or 32 MiB more, whichever is less.
class BlockCache {
 public:
  BlockCache() = default;
  ~BlockCache();  // gives back what is idle; what is in use stays valid
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // At least so many bytes, aligned to a page, with any content; null where the system gives none.
  void* take(size_t bytes);
  // False for what take() has not given.
  bool put(void* memory) noexcept;

  // A round ends, a step of training: what was idle in all of two goes back to the system.
  void end_round();
  void give_back_idle();

  size_t idle_bytes() const;

 private:
  struct Block {
    void* memory;
    long round;  // in which it became idle
  };
  using Blocks = std::multimap<size_t, Block>;  // by size, of equal ones the last used last

  void* use(Blocks::iterator idle);
  Blocks::iterator idle_for(size_t bytes);
  Blocks::iterator map(size_t bytes);
  void make_room(size_t bytes);
  Blocks::iterator give_back(Blocks::iterator idle);

  mutable std::mutex mutex_;
  Blocks idle_;
  std::unordered_map<void*, Blocks::node_type> in_use_;  // put() needs no memory
  size_t idle_bytes_ = 0, bytes_in_use_ = 0;
  std::array<size_t, 2> most_in_use_ = {};  // at once in this round, and in the one before it
  long round_ = 0;
};

}  // namespace exprun
