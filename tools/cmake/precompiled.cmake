# What most sources include is parsed once for all of them: halves a clean build. Every source still names
# what it uses, which `tools/test --long` proves for what does not need LibTorch.
option(EXPRUN_PRECOMPILE "Parse the headers that most sources include once" ON)

set(common_headers <algorithm> <chrono> <cstdint> <filesystem> <functional> <map> <memory>
  <optional> <string> <string_view> <vector> <nlohmann/json.hpp>)

# The common headers and more, found by way of the libraries that follow, for targets that say
# exprun_precompile(TARGET NAME).
function(exprun_precompiled name headers)
  if(EXPRUN_PRECOMPILE)
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/precompiled/${name}.cpp CONTENT "")
    add_library(exprun_precompiled_${name} OBJECT ${CMAKE_BINARY_DIR}/precompiled/${name}.cpp)
    target_link_libraries(exprun_precompiled_${name} PRIVATE exprun_options exprun_json ${ARGN})
    target_precompile_headers(exprun_precompiled_${name} PRIVATE ${common_headers} ${headers})
  endif()
endfunction()

function(exprun_precompile target name)
  if(EXPRUN_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM exprun_precompiled_${name})
  endif()
endfunction()

# -fpch-preprocess: ccache reads preprocessed sources. With strings from a precompiled header g++ 12 takes
# concatenation for overflows and overreads too (GCC bug 105651); ASan looks for real ones.
if(EXPRUN_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(exprun_options INTERFACE
    -fpch-preprocess -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
elseif(EXPRUN_PRECOMPILE)  # clang writes times into what it precompiles: no two would be equal
  target_compile_options(exprun_options INTERFACE -fpch-preprocess "SHELL:-Xclang -fno-pch-timestamp")
endif()
