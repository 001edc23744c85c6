// Files of tokens that are there already. The launcher has found and checked them.
#include "engine/data/token_dataset.h"

namespace exprun {
namespace {

std::unique_ptr<Dataset> build(const Section& section, const DatasetContext& context) {
  return make_token_dataset(section, context);
}

const Register<Dataset> registration{"token_shards", build};

}  // namespace
}  // namespace exprun
