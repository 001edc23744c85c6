# ccache and mold make rebuilds fast; neither is needed.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Precompiled headers: ccache must not ask for their macros and times.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()
find_program(MOLD mold)
if(MOLD)
  # mold 1.10 begins RELRO at a small .tbss, which may lie on the page before: such a program does
  # not start ("cannot apply additional memory protection after relocation").
  add_link_options(-fuse-ld=mold -Wl,-z,norelro)
endif()
# A compiler on each core, where memory allows: one that includes LibTorch's headers takes up to 1.5 GB.
cmake_host_system_information(RESULT compilers QUERY NUMBER_OF_LOGICAL_CORES)
cmake_host_system_information(RESULT room QUERY TOTAL_PHYSICAL_MEMORY)  # MiB
math(EXPR room "${room} / 1500")
if(room LESS compilers)
  set(compilers ${room})
endif()
if(compilers LESS 1)
  set(compilers 1)
endif()
set_property(GLOBAL PROPERTY JOB_POOLS compile=${compilers})
set(CMAKE_JOB_POOL_COMPILE compile)
