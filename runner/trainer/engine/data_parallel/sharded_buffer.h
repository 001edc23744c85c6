// A flat buffer as the ranks share it: the buckets that travel, and what this rank steps. With DDP,
// or alone, that is everything; with ZeRO-1 a part of each bucket, or whole matrices.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "dist/process_group.h"
#include "engine/buffers/flat_buffers.h"
#include "engine/data_parallel/bucket.h"
#include "engine/optimizer.h"
#include "engine/parameter.h"
#include "recipe/section.h"

namespace exprun {

// How the parameters of a run are spread over its ranks: [parallelism] as the engine reads it.
struct Parallelism {
  static constexpr int64_t kBucketBytes = 25 << 20;  // PyTorch's DDP has the same

  std::shared_ptr<ProcessGroup> group = single_process();
  bool shards_optimizer = false;        // ZeRO-1: each rank steps its part; else all step all
  int64_t bucket_bytes = kBucketBytes;  // about what one collective sends

  static Parallelism read(const Section& section, std::shared_ptr<ProcessGroup> group) {
    return {std::move(group), section.get<std::string>("strategy") == "zero1"};
  }
};

class ShardedBuffer {
 public:
  ShardedBuffer(std::vector<Parameter> parameters, bool decays, Optimizer::Granularity granularity,
                const Parallelism& parallelism,
                std::optional<at::ScalarType> gradients = std::nullopt);

  const FlatBuffer& flat() const { return flat_; }
  const std::vector<Bucket>& buckets() const { return buckets_; }

  // The parameters that have a part in it.
  std::vector<const FlatBuffer::ParameterSlice*> parameter_slices_in(const Bucket& bucket) const;

  // What this rank's optimizer gets one by one: ranges, or matrices in their shape if it takes
  // those.
  const std::vector<Slice>& units() const { return units_; }
  std::vector<FlatRange> ranges() const;

  // The part of a parameter that is in a unit.
  struct ParameterPart {
    const FlatBuffer::ParameterSlice& parameter_slice;
    Slice of_parameter, of_unit;
  };
  std::vector<ParameterPart> parameter_parts(size_t unit) const;

  // Over this rank's part of the gradients, 0-dim fp64 on their device; all ranks' together make
  // the whole.
  at::Tensor sum_of_squares() const;
  // Of what this rank steps.
  void scale_gradients(double coefficient) const;

  // Collective: a state tensor of the units, whole and on the CPU, in the buffer's layout;
  // undefined on every rank but 0. `like` has its dtype and device, for a rank without units. It is
  // there when the device has been awaited.
  at::Tensor gathered(const std::vector<at::Tensor>& state, const at::TensorOptions& like) const;

  // Fills a state tensor of the units from whole ones by parameter.
  void fill(const std::vector<at::Tensor>& state,
            const std::function<at::Tensor(const Parameter&)>& whole) const;

 private:
  void cut_evenly(Bucket::Form form, int64_t bytes);
  void give_to_owners();

  std::shared_ptr<ProcessGroup> group_;
  FlatBuffer flat_;
  bool of_matrices_;
  std::vector<Bucket> buckets_;
  std::vector<Slice> stepped_;  // by this rank
  std::vector<Slice> units_;
};

// Which rank steps which matrix, where an optimizer needs whole ones.

// A rank for each, so that all have about the same to compute: the costliest first, each to the
// rank with the least so far. The cost is that of multiplying a matrix with itself, as Muon does.
std::vector<int> owners(const std::vector<Parameter>& matrices, int world_size);

}  // namespace exprun
