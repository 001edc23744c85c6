# Gloo's headers, which LibTorch's wheel lacks: files of those names that hold our declarations.
# Only dist/gloo.cpp sees them; the definitions make c10d's headers more than empty files.
set(gloo_headers ${CMAKE_BINARY_DIR}/gloo_headers)
foreach(header algorithm.h common/error.h context.h rendezvous/store.h transport/device.h)
  file(CONFIGURE OUTPUT ${gloo_headers}/gloo/${header} CONTENT "#include \"dist/gloo_declarations.h\"\n")
endforeach()
set_source_files_properties(${CMAKE_SOURCE_DIR}/runner/trainer/dist/gloo.cpp PROPERTIES
  INCLUDE_DIRECTORIES ${gloo_headers})
target_compile_definitions(exprun_libtorch INTERFACE USE_DISTRIBUTED USE_C10D_GLOO)
