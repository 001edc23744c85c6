// How often a model completes a text as it should: files of ARC, PIQA, LAMBADA and HellaSwag, and
// of one's own (text/choice_examples.h).
#include "engine/inference/multiple_choice.h"
#include "recipe/paths.h"

namespace exprun {
namespace {

std::unique_ptr<Evaluation> build(const Section& section) {
  const auto file = expand_path(section.get<std::string>("path"), libtorch_folder());
  return make_multiple_choice(section, completion_file(file));
}

const Register<Evaluation> registration{"completion", build};

}  // namespace
}  // namespace exprun
