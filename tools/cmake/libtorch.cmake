# exprun_libtorch: LibTorch as an interface target, from the folder that holds lib/ and include/.
# find_package(Torch) of a CUDA wheel wants a CUDA toolkit; this needs none.
file(STRINGS ${CMAKE_SOURCE_DIR}/tools/setup/libtorch_version EXPRUN_LIBTORCH_VERSION)
set(LIBTORCH "$ENV{LIBTORCH}" CACHE PATH "LibTorch's folder, with lib/libtorch_cpu.so and include/")
if(NOT EXISTS ${LIBTORCH}/lib/libtorch_cpu.so)
  message(FATAL_ERROR "LibTorch was not found at '${LIBTORCH}': run tools/exprun, which gets it, "
                      "or give -DLIBTORCH=DIR")
endif()

file(STRINGS ${LIBTORCH}/include/torch/headeronly/version.h version_lines
     REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
string(REGEX MATCHALL "[0-9]+" version_numbers "${version_lines}")
list(JOIN version_numbers "." libtorch_version)
if(NOT libtorch_version STREQUAL EXPRUN_LIBTORCH_VERSION)
  message(FATAL_ERROR "LibTorch at ${LIBTORCH} is version ${libtorch_version}, but exprun is built "
                      "for ${EXPRUN_LIBTORCH_VERSION}: unset LIBTORCH and Torch_DIR to let "
                      "tools/exprun get that one")
endif()

add_library(exprun_libtorch INTERFACE)
# LibTorch ships another fmt than spdlog's: no source file includes both (tools/check_layering).
target_include_directories(exprun_libtorch SYSTEM INTERFACE
  ${LIBTORCH}/include ${LIBTORCH}/include/torch/csrc/api/include)
# Where the libraries are is CMake's to write into the programs (tools/bundle has it written anew).
target_link_options(exprun_libtorch INTERFACE -Wl,--no-as-needed -Wl,--allow-shlib-undefined)
target_link_libraries(exprun_libtorch INTERFACE ${LIBTORCH}/lib/libtorch_cpu.so ${LIBTORCH}/lib/libc10.so)

# at::parallel_for is a template: without OpenMP it runs on one thread, silently. There must be one
# OpenMP runtime in a process, LibTorch's; clang has another.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND EXISTS ${LIBTORCH}/lib/libgomp.so.1)
  target_compile_options(exprun_libtorch INTERFACE -fopenmp)
  target_link_libraries(exprun_libtorch INTERFACE ${LIBTORCH}/lib/libgomp.so.1)
else()
  message(WARNING "exprun's own kernels will run on one thread: that needs g++ and LibTorch's libgomp.so.1")
endif()

# exprun reads it for ${libtorch} in the paths of a recipe.
file(WRITE ${CMAKE_BINARY_DIR}/libtorch_folder "${LIBTORCH}\n")
