// What a parameter is: decides weight decay, the number format, and which optimizer may take it.
#pragma once

namespace exprun {

enum class ParameterClass { embedding, matrix, vector };

const char* to_string(ParameterClass kind);

}  // namespace exprun
