# tests/fuzz/<name>.cpp is the program fuzz_<name>, under libFuzzer, ASan and UBSan: with clang only.
set(fuzz_flags -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -g1 -fno-omit-frame-pointer)
target_compile_options(exprun_options INTERFACE ${fuzz_flags})
target_link_options(exprun_options INTERFACE ${fuzz_flags})

function(exprun_fuzz_program name)
  add_executable(fuzz_${name} ${CMAKE_SOURCE_DIR}/tests/fuzz/${name}.cpp)
  target_link_libraries(fuzz_${name} PRIVATE ${ARGN})
  target_include_directories(fuzz_${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  exprun_link_without_mold(fuzz_${name})
endfunction()

exprun_fuzz_program(recipe exprun_recipe)
exprun_fuzz_program(safetensors exprun_base)

# The readers of data alone: the rest of the control plane is not needed.
exprun_fuzz_program(data exprun_text exprun_zlib exprun_zstd)
foreach(name byte_stream records format_sniffing record_fields record_template shard_contents)
  file(GLOB_RECURSE source ${CMAKE_SOURCE_DIR}/runner/control/data/${name}.cpp)
  target_sources(fuzz_data PRIVATE ${source})
endforeach()

# The language of --where, without the commands that read it.
exprun_fuzz_program(expression exprun_base)
foreach(name cell expression dates filter)
  target_sources(fuzz_expression PRIVATE ${CMAKE_SOURCE_DIR}/runner/control/report/${name}.cpp)
endforeach()
