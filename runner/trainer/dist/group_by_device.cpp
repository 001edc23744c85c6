#include "dist/group_by_device.h"

namespace exprun {
namespace {

class GroupByDevice : public ProcessGroup {
 public:
  GroupByDevice(std::unique_ptr<ProcessGroup> of_cpus, std::unique_ptr<ProcessGroup> of_gpus)
      : of_cpus_(std::move(of_cpus)), of_gpus_(std::move(of_gpus)) {}

  int rank() const override { return of_cpus_->rank(); }
  int world_size() const override { return of_cpus_->world_size(); }
  bool exchanges() const override { return of_gpus_->exchanges(); }

  std::unique_ptr<Collective> all_reduce(at::Tensor tensor) override {
    return of(tensor).all_reduce(tensor);
  }
  std::unique_ptr<Collective> sum_numbers(at::Tensor numbers) override {
    require_intact();  // a device may have made them
    return of_cpus_->sum_numbers(numbers);
  }
  void require_intact() override { of_gpus_->require_intact(); }
  std::unique_ptr<Collective> reduce(at::Tensor tensor, int to) override {
    return of(tensor).reduce(tensor, to);
  }
  std::unique_ptr<Collective> reduce_scatter(at::Tensor part, at::Tensor whole) override {
    return of(whole).reduce_scatter(part, whole);
  }
  std::unique_ptr<Collective> all_gather(at::Tensor whole, at::Tensor part) override {
    return of(whole).all_gather(whole, part);
  }
  std::unique_ptr<Collective> broadcast(at::Tensor tensor, int from) override {
    return of(tensor).broadcast(tensor, from);
  }

 private:
  ProcessGroup& of(const at::Tensor& tensor) const {
    return tensor.is_cpu() ? *of_cpus_ : *of_gpus_;
  }

  std::unique_ptr<ProcessGroup> of_cpus_, of_gpus_;
};

}  // namespace

std::unique_ptr<ProcessGroup> group_by_device(std::unique_ptr<ProcessGroup> of_cpus,
                                              std::unique_ptr<ProcessGroup> of_gpus) {
  return std::make_unique<GroupByDevice>(std::move(of_cpus), std::move(of_gpus));
}

}  // namespace exprun
