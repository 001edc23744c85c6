// The ranks that train one run together. One process is the group of one.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

namespace exprun {

// A collective under way. Its tensors stay alive and untouched until wait() has returned.
class Collective {
 public:
  virtual ~Collective() = default;

  // Begins what can only begin once the rest has come, for which it may wait; wait() does it too.
  // Every rank calls it at the same place among its collectives.
  virtual void go_on() {}

  // Until this rank's result is there. Throws Error: another rank is gone, or the time-out passed.
  // Of a GPU's tensors: what the device is asked for from here on finds the result; whether there
  // is one ProcessGroup::require_intact tells.
  virtual void wait() = 0;
};

// Every rank calls the same collectives in the same order with tensors of equal size and dtype, all
// contiguous. They overlap with what the caller does until it waits.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;

  // Whether collectives move anything, or may as well be left out. A backend's do, even between one
  // rank and itself.
  virtual bool exchanges() const { return world_size() > 1; }

  // To be called between reading what a device has made of collectives and believing it. Throws
  // Error: one has failed; the device has then been made to go on, with whatever was there.
  virtual void require_intact() {}

  // Replaces the tensor by its sum over all ranks: the same bits on every rank.
  virtual std::unique_ptr<Collective> all_reduce(at::Tensor tensor) = 0;

  // The same for a few numbers on the CPU; it does not queue behind what is under way.
  virtual std::unique_ptr<Collective> sum_numbers(at::Tensor numbers) = 0;

  // The sum over all ranks, on one of them; on the others the tensor is of no more use.
  virtual std::unique_ptr<Collective> reduce(at::Tensor tensor, int to) = 0;

  // The sum over all ranks of `whole`, in world_size() equal parts: the rank-th into `part`,
  // which may be that part of `whole`; the others are then of no more use.
  virtual std::unique_ptr<Collective> reduce_scatter(at::Tensor part, at::Tensor whole) = 0;

  // The parts of all ranks, one after another, into `whole`; `part` may lie there already.
  virtual std::unique_ptr<Collective> all_gather(at::Tensor whole, at::Tensor part) = 0;

  // The tensor of one rank into that of all others.
  virtual std::unique_ptr<Collective> broadcast(at::Tensor tensor, int from) = 0;
};

// Rank 0 of a world of 1: every collective is the identity.
std::unique_ptr<ProcessGroup> single_process();

// Rank 0 of a world that is not there: for plans on the meta device. Its collectives do nothing.
std::unique_ptr<ProcessGroup> imagined_ranks(int world_size);

// Sums of a few numbers over all ranks, at once.
std::vector<double> sum_over_ranks(ProcessGroup& group, const std::vector<double>& values);

// The numbers of rank 0 on every rank, as many as each brings; those of the others do not count.
std::vector<double> from_rank_0(ProcessGroup& group, std::vector<double> values);

}  // namespace exprun
