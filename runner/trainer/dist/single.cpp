#include "dist/process_group.h"

namespace exprun {

namespace {

class Single : public ProcessGroup {
 public:
  int rank() const override { return 0; }
  int world_size() const override { return 1; }
  void all_reduce(at::Tensor&) override {}
};

}  // namespace

std::unique_ptr<ProcessGroup> single_process() {
  return std::make_unique<Single>();
}

}  // namespace exprun
