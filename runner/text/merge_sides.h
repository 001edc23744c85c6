// The merges of a vocabulary while it is read: the bytes of both sides, before their ids are known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace exprun {

struct MergeSides {
  struct Sizes {
    uint32_t left, right;
  };

  std::string bytes;         // of all sides, one behind the other
  std::vector<Sizes> sizes;  // by rank
};

}  // namespace exprun
