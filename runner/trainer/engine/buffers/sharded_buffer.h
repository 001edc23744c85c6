// A flat buffer as the ranks share it: the buckets that travel, and what this rank steps. With DDP,
// or alone, that is everything; with ZeRO-1 a part of each bucket, or whole matrices.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "engine/buffers/bucket.h"
#include "engine/buffers/flat_buffers.h"
#include "engine/buffers/parallelism.h"
#include "engine/optimizer.h"

namespace exprun {

class ShardedBuffer {
 public:
  ShardedBuffer(std::vector<Parameter> parameters, bool decays, Optimizer::Granularity granularity,
                const Parallelism& parallelism,
                std::optional<at::ScalarType> gradients = std::nullopt);

  const FlatBuffer& flat() const { return flat_; }
  const std::vector<Bucket>& buckets() const { return buckets_; }

  // The parameters that have a part in it.
  std::vector<const FlatBuffer::Slot*> slots_in(const Bucket& bucket) const;

  // What this rank's optimizer gets one by one: ranges, or matrices in their shape if it takes
  // those.
  const std::vector<Stretch>& units() const { return units_; }
  std::vector<FlatRange> ranges() const;

  // The part of a parameter that is in a unit.
  struct Cut {
    const FlatBuffer::Slot& slot;
    Stretch of_parameter, of_unit;
  };
  std::vector<Cut> cuts(size_t unit) const;

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
  std::vector<Stretch> stepped_;  // by this rank
  std::vector<Stretch> units_;
};

}  // namespace exprun
