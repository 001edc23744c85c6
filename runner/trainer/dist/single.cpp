#include "dist/process_group.h"

namespace exprun {

namespace {

struct Done : Collective {
  void wait() override {}
};

class Single : public ProcessGroup {
 public:
  int rank() const override { return 0; }
  int world_size() const override { return 1; }
  std::unique_ptr<Collective> all_reduce(at::Tensor) override { return std::make_unique<Done>(); }
  std::unique_ptr<Collective> reduce_scatter(at::Tensor part, at::Tensor whole) override {
    return copy(part, whole);
  }
  std::unique_ptr<Collective> all_gather(at::Tensor whole, at::Tensor part) override {
    return copy(whole, part);
  }
  std::unique_ptr<Collective> broadcast(at::Tensor, int) override {
    return std::make_unique<Done>();
  }

 private:
  static std::unique_ptr<Collective> copy(at::Tensor to, const at::Tensor& from) {
    if (!to.is_same(from)) to.copy_(from);
    return std::make_unique<Done>();
  }
};

}  // namespace

std::unique_ptr<ProcessGroup> single_process() {
  return std::make_unique<Single>();
}

}  // namespace exprun
