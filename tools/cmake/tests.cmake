# tests/unit/<area>/ is the program unit_<area>; tests/engine/<topic>/ is engine_<topic>, and what lies in
# tests/engine itself, of kernels, models and optimizers, is engine_tests.
# tests/support: main and the fixtures serve every program; the rest needs the engine.
file(GLOB test_main CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/support/doctest_main.cpp
                                      ${CMAKE_SOURCE_DIR}/tests/support/fixtures.cpp)
add_library(exprun_test_main STATIC ${test_main})
target_include_directories(exprun_test_main PUBLIC ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(exprun_test_main PUBLIC exprun_base exprun_doctest)

exprun_precompiled(tests <doctest/doctest.h> exprun_doctest)

# Runs that are made up and runs that are replayed: for tests of the engine, for those on GPUs and for benchmarks.
if(EXPRUN_TRAINER)
  foreach(name support/recorded_run support/replay support/coded_text support/rank_threads support/sections support/foreign_names engine/tiny_run)
    list(APPEND test_runs ${CMAKE_SOURCE_DIR}/tests/${name}.cpp)
  endforeach()
  add_library(exprun_test_runs OBJECT ${test_runs})
  target_link_libraries(exprun_test_runs PUBLIC exprun_test_main exprun_recipe exprun_text exprun_store exprun_libtorch)
  target_include_directories(exprun_test_runs PRIVATE ${CMAKE_SOURCE_DIR}/runner/trainer)
  exprun_precompile(exprun_test_runs engine)
  exprun_batches(exprun_test_runs)
endif()

function(exprun_test_program name folder precompiled)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cpp)
  list(REMOVE_ITEM sources ${test_runs})
  if(sources)
    add_executable(${name} ${sources})
    target_link_libraries(${name} PRIVATE exprun_test_main ${ARGN})
    exprun_precompile(${name} ${precompiled})
    add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    string(REGEX MATCH "^[a-z]+" kind ${name})
    add_dependencies(${kind}_programs ${name})
  endif()
endfunction()

# For tools/test, which tests what is built first while the rest is built.
add_custom_target(unit_programs)
add_custom_target(engine_programs)

exprun_test_program(unit_base tests/unit/base tests exprun_base)
exprun_test_program(unit_recipe tests/unit/recipe tests exprun_recipe)
exprun_test_program(unit_huggingface tests/unit/huggingface tests exprun_huggingface)
exprun_test_program(unit_text tests/unit/text tests exprun_text)
exprun_test_program(unit_store tests/unit/store tests exprun_store)
exprun_test_program(unit_control tests/unit/control tests exprun_control)
foreach(name unit_recipe unit_control)
  if(TARGET ${name})
    target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/support/error_cases.cpp)
  endif()
endforeach()

# Stands in for NVIDIA's library where there is none: found by its path, or by LD_LIBRARY_PATH.
add_library(fake_nvml SHARED ${CMAKE_SOURCE_DIR}/tests/support/nvml/fake_nvml.cpp)
set_target_properties(fake_nvml PROPERTIES OUTPUT_NAME nvidia-ml SUFFIX .so.1
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fake_nvml)
exprun_link_without_mold(fake_nvml)
if(TARGET unit_base)
  add_dependencies(unit_base fake_nvml)
  target_compile_definitions(unit_base PRIVATE EXPRUN_FAKE_NVML="$<TARGET_FILE:fake_nvml>")
endif()

add_executable(recipe_verdicts ${CMAKE_SOURCE_DIR}/tests/support/verdicts/recipe_verdicts.cpp)
target_link_libraries(recipe_verdicts PRIVATE exprun_recipe)
add_dependencies(unit_programs fake_nvml recipe_verdicts)

if(EXPRUN_TRAINER)
  add_library(exprun_seeded_tests OBJECT ${CMAKE_SOURCE_DIR}/tests/support/seeded_tests.cpp)
  target_link_libraries(exprun_seeded_tests PRIVATE exprun_test_main exprun_libtorch)
  exprun_precompile(exprun_seeded_tests engine)
  # Not precompiled for operators: c10's logging has a CHECK of its own.
  function(exprun_engine_program name folder)
    exprun_test_program(${name} ${folder} engine exprun_test_runs exprun_seeded_tests exprun_trainer_cpu)
  endfunction()
  exprun_engine_program(engine_tests tests/engine)
  file(GLOB topics CONFIGURE_DEPENDS LIST_DIRECTORIES true RELATIVE ${CMAKE_SOURCE_DIR}/tests/engine ${CMAKE_SOURCE_DIR}/tests/engine/*)
  list(FILTER topics EXCLUDE REGEX "\\.")
  foreach(topic ${topics})
    exprun_engine_program(engine_${topic} tests/engine/${topic})
  endforeach()
  target_sources(engine_parity PRIVATE ${CMAKE_SOURCE_DIR}/tests/support/parity_checks.cpp
                                       ${CMAKE_SOURCE_DIR}/tests/support/parity_run.cpp)
  target_sources(engine_weights PRIVATE ${CMAKE_SOURCE_DIR}/tests/support/parity_run.cpp)
  # On GPUs, where there are some: tests/end_to_end/test_gpu.py runs it. It is built everywhere.
  if(TARGET exprun-trainer-cuda)
    add_executable(gpu_tests ${CMAKE_SOURCE_DIR}/tests/gpu/gpu_test.cpp)
    target_link_libraries(gpu_tests PRIVATE exprun_test_runs exprun_trainer_cuda)
  endif()
endif()
