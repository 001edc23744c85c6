// A process group that counts what goes through it.
#pragma once

#include <memory>

#include "dist/process_group.h"

namespace exprun {

class CountedGroup : public ProcessGroup {
 public:
  CountedGroup(std::shared_ptr<ProcessGroup> group, int& count)
      : group_(std::move(group)), count_(count) {}

  int rank() const override { return group_->rank(); }
  int world_size() const override { return group_->world_size(); }
  bool exchanges() const override { return group_->exchanges(); }
  void require_intact() override { group_->require_intact(); }
  std::unique_ptr<Collective> all_reduce(at::Tensor tensor) override {
    return counted(group_->all_reduce(tensor));
  }
  std::unique_ptr<Collective> sum_numbers(at::Tensor numbers) override {
    return counted(group_->sum_numbers(numbers));
  }
  std::unique_ptr<Collective> reduce(at::Tensor tensor, int to) override {
    return counted(group_->reduce(tensor, to));
  }
  std::unique_ptr<Collective> reduce_scatter(at::Tensor part, at::Tensor whole) override {
    return counted(group_->reduce_scatter(part, whole));
  }
  std::unique_ptr<Collective> all_gather(at::Tensor whole, at::Tensor part) override {
    return counted(group_->all_gather(whole, part));
  }
  std::unique_ptr<Collective> broadcast(at::Tensor tensor, int from) override {
    return counted(group_->broadcast(tensor, from));
  }

 private:
  std::unique_ptr<Collective> counted(std::unique_ptr<Collective> collective) {
    ++count_;
    return collective;
  }

  std::shared_ptr<ProcessGroup> group_;
  int& count_;
};

}  // namespace exprun
