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

# mold 1.10 does not come to an end with some programs.
function(exprun_link_without_mold target)
  target_link_options(${target} PRIVATE -fuse-ld=bfd)
endfunction()
include(compile_jobs)
