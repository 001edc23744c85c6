// How the parameters of a run are spread over its ranks: [parallelism] as the engine reads it.
#pragma once

#include <cstdint>
#include <memory>

#include "dist/process_group.h"
#include "recipe/section.h"

namespace exprun {

struct Parallelism {
  static constexpr int64_t kBucketBytes = 25 << 20;  // PyTorch's DDP has the same

  std::shared_ptr<ProcessGroup> group = single_process();
  bool shards_optimizer = false;        // ZeRO-1: each rank steps its part; else all step all
  int64_t bucket_bytes = kBucketBytes;  // about what one collective sends

  static Parallelism read(const Section& section, std::shared_ptr<ProcessGroup> group) {
    return {std::move(group), section.get<std::string>("strategy") == "zero1"};
  }
};

}  // namespace exprun
