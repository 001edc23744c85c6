# What most sources of a target include is parsed once for all of them: halves a clean build. Every
# source still names what it uses; the clang build of tests/fuzz and EXPRUN_PRECOMPILE=OFF prove it.
option(EXPRUN_PRECOMPILE "Parse the headers that most sources include once a target" ON)

set(EXPRUN_COMMON_HEADERS <algorithm> <chrono> <cstdint> <filesystem> <functional> <map> <memory>
  <optional> <string> <string_view> <vector> <nlohmann/json.hpp>)

function(exprun_precompile target)
  if(EXPRUN_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${EXPRUN_COMMON_HEADERS} ${ARGN})
    # -fpch-preprocess: ccache reads preprocessed sources. With strings from a precompiled header g++ 12 takes
    # concatenation for overflows too (GCC bug 105651); ASan looks for real ones.
    target_compile_options(${target} PRIVATE
      $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess -Wno-array-bounds -Wno-stringop-overflow>)
  endif()
endfunction()
