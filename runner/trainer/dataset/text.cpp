// Plain text. The launcher has made it into token shards by the other keys of its table.
#include "engine/data/token_dataset.h"

namespace exprun {
namespace {

std::unique_ptr<Dataset> build(const Section& section, const DatasetContext& context) {
  return make_token_dataset(section, context);
}

const Register<Dataset> registration{"text", build};

}  // namespace
}  // namespace exprun
