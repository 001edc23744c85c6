# exprun_libtorch_cuda: what exprun-trainer-cuda links beside LibTorch's CPU part. No nvcc and no toolkit
# are needed, only headers: CUDA's run-time library's and NCCL's, which tools/setup/cuda_headers gets
# from PyPI. Where they are missing the target is, and exprun_cuda_missing says why.
file(STRINGS ${CMAKE_SOURCE_DIR}/tools/setup/nccl_version nccl_version)
set(NVIDIA "" CACHE PATH "NVIDIA's wheels unpacked: the folder that holds cu13/ and nccl/")

set(wheels ${LIBTORCH}/../nvidia ${NVIDIA})
list(TRANSFORM wheels APPEND /cu13 OUTPUT_VARIABLE cuda)
list(APPEND cuda $ENV{CUDA_HOME} /usr/local/cuda)
list(TRANSFORM wheels APPEND /nccl OUTPUT_VARIABLE nccl)
# nv/: of the wheel nvidia-cuda-cccl; without it and nvidia-cuda-crt the others' headers are not whole.
find_path(cuda_include nv/target NO_CACHE NO_DEFAULT_PATH PATHS ${cuda} PATH_SUFFIXES include)
find_file(cudart libcudart.so.13 NO_CACHE NO_DEFAULT_PATH PATHS ${cuda} PATH_SUFFIXES lib lib64)
find_path(nccl_include nccl.h NO_CACHE NO_DEFAULT_PATH PATHS ${nccl} PATH_SUFFIXES include)

# LibTorch's class of the process group has NCCL's structures inside: of its own version only.
if(nccl_include)
  file(STRINGS ${nccl_include}/nccl.h nccl_lines REGEX "define NCCL_(MAJOR|MINOR|PATCH) ")
  string(REGEX MATCHALL " [0-9]+" nccl_found "${nccl_lines}")
  string(REPLACE "; " "." nccl_found "${nccl_found}")
  string(STRIP "${nccl_found}" nccl_found)
endif()

# And of CUDA's run-time library: what libc10_cuda.so was linked with.
string(REGEX REPLACE "\\..*" "" cuda_major "${cuda_version}")
set(libtorch_cuda_major ${cuda_major})
if(EXISTS ${LIBTORCH}/lib/libc10_cuda.so)
  file(STRINGS ${LIBTORCH}/lib/libc10_cuda.so libtorch_cudart REGEX "libcudart[-0-9a-f]*\\.so\\.[0-9]+" LIMIT_COUNT 1)
  if(libtorch_cudart MATCHES "\\.so\\.([0-9]+)")
    set(libtorch_cuda_major ${CMAKE_MATCH_1})
  endif()
endif()

set(exprun_cuda_missing "")
if(NOT EXISTS ${LIBTORCH}/lib/libtorch_cuda.so)
  set(exprun_cuda_missing "this LibTorch is for CPUs only")
elseif(NOT libtorch_cuda_major STREQUAL cuda_major)
  set(exprun_cuda_missing "this LibTorch is for CUDA ${libtorch_cuda_major}, exprun for CUDA ${cuda_major}")
elseif(NOT cuda_include OR NOT cudart)
  set(exprun_cuda_missing "no headers of CUDA with nv/ and crt/, or no libcudart.so.13")
elseif(NOT nccl_include)
  set(exprun_cuda_missing "no nccl.h")
elseif(NOT nccl_found STREQUAL nccl_version)
  set(exprun_cuda_missing "${nccl_include}/nccl.h is of NCCL ${nccl_found}, LibTorch has ${nccl_version}")
endif()
if(exprun_cuda_missing)
  message(STATUS "exprun-trainer-cuda is not built: ${exprun_cuda_missing} (tools/setup/cuda_headers gets headers)")
  return()
endif()

# LibTorch's CUDA headers name cuBLAS's, cuSPARSE's and cuSOLVER's, and use their handles' names alone.
set(math_headers ${CMAKE_BINARY_DIR}/cuda_math_headers)
foreach(header cublas_v2.h cublasLt.h cusparse.h cusolverDn.h cusolver_common.h)
  file(CONFIGURE OUTPUT ${math_headers}/${header} CONTENT "#include \"dist/cuda_math_declarations.h\"\n")
endforeach()
set_property(SOURCE ${CMAKE_SOURCE_DIR}/runner/trainer/dist/nccl.cpp
  APPEND PROPERTY COMPILE_DEFINITIONS USE_C10D_NCCL)

add_library(exprun_libtorch_cuda INTERFACE)
target_include_directories(exprun_libtorch_cuda SYSTEM INTERFACE ${cuda_include} ${nccl_include} ${math_headers})
target_link_libraries(exprun_libtorch_cuda INTERFACE exprun_libtorch
  ${LIBTORCH}/lib/libtorch_cuda.so ${LIBTORCH}/lib/libc10_cuda.so ${cudart})
