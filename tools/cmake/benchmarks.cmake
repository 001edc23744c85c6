# What tools/bench measures with: programs that print figures and assert nothing. Built with all, so that they build.
function(exprun_benchmark name library)
  add_executable(${name} ${CMAKE_SOURCE_DIR}/tools/bench/${name}.cpp ${ARGN})
  target_link_libraries(${name} PRIVATE ${library})
endfunction()

exprun_benchmark(store_cost exprun_store)
exprun_benchmark(store_contention exprun_store ${CMAKE_SOURCE_DIR}/tests/unit/store/contention.cpp)
exprun_benchmark(store_scale exprun_control ${CMAKE_SOURCE_DIR}/tests/unit/store/many_runs.cpp)
exprun_benchmark(tokenize_speed exprun_text)

if(EXPRUN_TRAINER)
  exprun_benchmark(step_speed exprun_trainer_cpu)
  exprun_benchmark(kernel_speed exprun_trainer_cpu)
  exprun_benchmark(ranks_trace "exprun_test_runs;exprun_trainer_cpu")
endif()
