// The ranks that train one run together. One process is the group of one.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

namespace exprun {

// A collective under way. The caller keeps its tensors alive and untouched until wait() has
// returned.
class Collective {
 public:
  virtual ~Collective() = default;

  // Begins the part that needs what the other ranks send first, for which it may wait; wait() does
  // it too. Every rank calls it at the same place among its collectives.
  virtual void go_on() {}

  // Waits until this rank's result is there. Throws Error where another rank is gone or the
  // time-out has passed. For tensors of a GPU it only orders the device's later work after the
  // result; ProcessGroup::require_intact tells whether there is one.
  virtual void wait() = 0;
};

// Every rank calls the same collectives in the same order, with contiguous tensors of equal size
// and dtype. Collectives run while the caller goes on, until it waits.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;

  // Whether collectives move anything; where not, the caller may leave them out. Those of a backend
  // do, even with a single rank.
  virtual bool exchanges() const { return world_size() > 1; }

  // To be called after a device's results were read and before they are used. Throws Error where a
  // collective has failed: the device has then gone on with whatever its memory held.
  virtual void require_intact() {}

  // Replaces the tensor by its sum over all ranks: the same bits on every rank.
  virtual std::unique_ptr<Collective> all_reduce(at::Tensor tensor) = 0;

  // The same for a few numbers on the CPU; it does not queue behind collectives under way.
  virtual std::unique_ptr<Collective> sum_numbers(at::Tensor numbers) = 0;

  // The sum over all ranks, on one of them; on the others the tensor's contents are undefined.
  virtual std::unique_ptr<Collective> reduce(at::Tensor tensor, int to) = 0;

  // The sum over all ranks of `whole`, in world_size() equal parts: the rank-th into `part`,
  // which may be that part of `whole`; the contents of the others are then undefined.
  virtual std::unique_ptr<Collective> reduce_scatter(at::Tensor part, at::Tensor whole) = 0;

  // The parts of all ranks, one after another, into `whole`; `part` may lie there already.
  virtual std::unique_ptr<Collective> all_gather(at::Tensor whole, at::Tensor part) = 0;

  // The tensor of one rank into that of all others.
  virtual std::unique_ptr<Collective> broadcast(at::Tensor tensor, int from) = 0;
};

// Rank 0 of a world of 1: every collective is the identity.
std::unique_ptr<ProcessGroup> single_process();

// Rank 0 of a world that does not exist, for plans on the meta device. Its collectives do nothing.
std::unique_ptr<ProcessGroup> imagined_ranks(int world_size);

// The sums of a few numbers over all ranks, in one collective.
std::vector<double> sum_over_ranks(ProcessGroup& group, const std::vector<double>& values);

// The numbers of rank 0 on every rank; each rank passes as many, and those of the others are
// ignored.
std::vector<double> from_rank_0(ProcessGroup& group, std::vector<double> values);

}  // namespace exprun
