// HellaSwag (Zellers et al. 2019): which of four endings does the model expect?
#include "engine/inference/multiple_choice.h"

namespace exprun {
namespace {

std::unique_ptr<Evaluation> build(const Section& section) {
  return make_multiple_choice(section, hellaswag_file());
}

const Register<Evaluation> registration{"hellaswag", build};

}  // namespace
}  // namespace exprun
