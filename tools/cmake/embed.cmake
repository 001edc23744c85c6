# Embeds the files below a folder into a library, as
#   namespace exprun { const std::vector<std::pair<std::string_view, std::string_view>>& <name>(); }
# declared where it is used. Paths are relative to the folder, sorted.
function(exprun_embed target name folder pattern)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${folder}/${pattern})
  set(output ${CMAKE_BINARY_DIR}/embedded/${name}.cpp)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DFOLDER=${folder} -DPATTERN=${pattern}
            -DOUTPUT=${output} -P ${CMAKE_SOURCE_DIR}/tools/cmake/write_embedded.cmake
    DEPENDS ${files} ${CMAKE_SOURCE_DIR}/tools/cmake/write_embedded.cmake
    VERBATIM)
  # Compilers take longer texts than the standard asks them to.
  set_source_files_properties(${output} PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
  target_sources(${target} PRIVATE ${output})
endfunction()
