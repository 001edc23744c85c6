// Plain text: read, tokenized and split once into token shards below runs/data/<fingerprint>/.
#pragma once

#include <filesystem>
#include <string>

#include "recipe/resolved.h"
#include "text/prepared_data.h"

namespace exprun {

PreparedData prepare_text(const ResolvedRecipe& recipe, const std::filesystem::path& data_folder,
                          const std::string& libtorch);

}  // namespace exprun
