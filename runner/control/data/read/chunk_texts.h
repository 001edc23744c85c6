// The texts of a chunk: JSON records are filled in a template, what is text already stays.
#pragma once

#include <functional>
#include <string_view>

#include "control/data/read/document_chunks.h"
#include "control/data/read/record_template.h"

namespace exprun {

// What is wrong with a text, found here or by `visit`, is a RecipeError at the path that named the
// file; of a JSON record it names the record.
void for_each_text(const Chunk& chunk, const RecordTemplate& text,
                   const std::function<void(const Piece&, std::string_view)>& visit);

}  // namespace exprun
