// A run of the store as TensorBoard's event files.
#pragma once

#include <filesystem>

#include "base/files/run_folder.h"
#include "store/store.h"

namespace exprun {

// Its values, its samples and its hyper-parameters, in a file of the folder `into`, which is made.
// Throws Error.
void write_tensorboard(const Store& store, const RunRow& run, const RunFolder& folder,
                       const std::filesystem::path& into);

}  // namespace exprun
