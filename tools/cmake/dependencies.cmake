# Each library of the ground floor as a target exprun_<name>: found on the system, otherwise fetched
# at the pinned version, which is Debian 12's and so the one that everyday builds use.
# A local source tree serves instead with -DFETCHCONTENT_SOURCE_DIR_<NAME>=FOLDER (offline machines).
include(CheckCXXSourceCompiles)
include(FetchContent)
if(POLICY CMP0135)
  cmake_policy(SET CMP0135 NEW)
endif()
option(EXPRUN_FETCH "Fetch every library, installed or not" OFF)

find_package(Threads REQUIRED)
find_package(PkgConfig QUIET)

# Sets <package>_FOUND, or makes the package's targets from GitHub's <repository> at <commit>.
macro(exprun_find_or_fetch package repository commit)
  if(NOT EXPRUN_FETCH)
    find_package(${package} QUIET)
  endif()
  if(NOT ${package}_FOUND)
    exprun_fetch(${package} ${repository} ${commit})
  endif()
endmacro()

# A fourth argument is the folder of its CMakeLists.txt; a folder without one is fetched as source.
macro(exprun_fetch package repository commit)
  message(STATUS "${package} is fetched: ${repository} ${commit}")
  FetchContent_Declare(${package} URL https://github.com/${repository}/archive/${commit}.tar.gz
                       SOURCE_SUBDIR "${ARGN}")
  FetchContent_MakeAvailable(${package})
endmacro()

# exprun_<name> with the targets given; headers of fetched ones count as the system's (no warnings).
function(exprun_dependency name)
  add_library(exprun_${name} INTERFACE)
  target_link_libraries(exprun_${name} INTERFACE ${ARGN})
  foreach(target IN LISTS ARGN)
    get_target_property(aliased ${target} ALIASED_TARGET)
    if(aliased)
      set(target ${aliased})
    endif()
    get_target_property(imported ${target} IMPORTED)
    get_target_property(includes ${target} INTERFACE_INCLUDE_DIRECTORIES)
    if(includes AND NOT imported)
      set_target_properties(${target} PROPERTIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${includes}")
    endif()
  endforeach()
endfunction()

# A library that is found by pkg-config: PkgConfig::<name>, or ${name}_FOUND is false.
macro(exprun_pkg_config name module)
  if(PKG_CONFIG_FOUND AND NOT EXPRUN_FETCH)
    pkg_check_modules(${name} QUIET IMPORTED_TARGET ${module})
  endif()
endmacro()

# On x86 it can choose the widest vectors of the processor; not every system's library is built so.
exprun_pkg_config(xxhash libxxhash)
if(xxhash_FOUND)
  exprun_dependency(xxhash PkgConfig::xxhash)
  set(CMAKE_REQUIRED_QUIET ON)
  set(CMAKE_REQUIRED_LIBRARIES PkgConfig::xxhash)
  check_cxx_source_compiles("#include <xxhash.h>
#include <xxh_x86dispatch.h>
int main() { return static_cast<int>(XXH3_128bits_dispatch(nullptr, 0).low64); }" exprun_xxhash_dispatches)
  unset(CMAKE_REQUIRED_LIBRARIES)
  unset(CMAKE_REQUIRED_QUIET)
else()
  exprun_fetch(xxhash Cyan4973/xxHash 35b0373c697b5f160d3db26b1cbb45a0d5ba788c)  # 0.8.1
  add_library(xxhash STATIC ${xxhash_SOURCE_DIR}/xxhash.c)
  target_include_directories(xxhash PUBLIC ${xxhash_SOURCE_DIR})
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    target_sources(xxhash PRIVATE ${xxhash_SOURCE_DIR}/xxh_x86dispatch.c)
    set(exprun_xxhash_dispatches ON)
  endif()
  exprun_dependency(xxhash xxhash)
endif()
if(exprun_xxhash_dispatches)
  target_compile_definitions(exprun_xxhash INTERFACE EXPRUN_XXHASH_DISPATCHES)
endif()

exprun_pkg_config(pcre2 libpcre2-8)
if(pcre2_FOUND)
  exprun_dependency(pcre2 PkgConfig::pcre2)
else()
  set(PCRE2_SUPPORT_JIT ON CACHE INTERNAL "")
  set(PCRE2_BUILD_PCRE2GREP OFF CACHE INTERNAL "")
  set(PCRE2_BUILD_TESTS OFF CACHE INTERNAL "")
  exprun_fetch(pcre2 PCRE2Project/pcre2 refs/tags/pcre2-10.42)
  exprun_dependency(pcre2 pcre2-8-static)
endif()

exprun_pkg_config(zlib zlib)
if(zlib_FOUND)
  exprun_dependency(zlib PkgConfig::zlib)
else()
  exprun_fetch(zlib madler/zlib refs/tags/v1.2.13)
  target_include_directories(zlibstatic PUBLIC ${zlib_SOURCE_DIR} ${zlib_BINARY_DIR})
  exprun_dependency(zlib zlibstatic)
endif()

exprun_pkg_config(zstd libzstd)
if(zstd_FOUND)
  exprun_dependency(zstd PkgConfig::zstd)
else()
  exprun_fetch(zstd facebook/zstd refs/tags/v1.5.4 build/cmake)
  target_include_directories(libzstd_static PUBLIC ${zstd_SOURCE_DIR}/lib)
  exprun_dependency(zstd libzstd_static)
endif()

# Headers only: the library is opened when something is fetched, so that no other command loads it.
exprun_pkg_config(curl libcurl>=7.32)  # CURLOPT_XFERINFOFUNCTION
add_library(exprun_curl INTERFACE)
if(curl_FOUND)
  target_include_directories(exprun_curl SYSTEM INTERFACE ${curl_INCLUDE_DIRS})
else()
  exprun_fetch(curl curl/curl refs/tags/curl-7_88_1 include)
  target_include_directories(exprun_curl SYSTEM INTERFACE ${curl_SOURCE_DIR}/include)
endif()
target_link_libraries(exprun_curl INTERFACE ${CMAKE_DL_LIBS})

# One minified file, embedded for `report --html`. Its sources on GitHub have no build: it is fetched as npm's package.
if(NOT EXPRUN_FETCH)
  find_file(EXPRUN_CHART_JS chart.min.js PATHS /usr/share/javascript/chart.js /usr/share/nodejs/chart.js/dist)
endif()
if(NOT EXPRUN_CHART_JS)
  message(STATUS "chart_js is fetched: npm chart.js 3.9.1")
  FetchContent_Declare(chart_js URL https://registry.npmjs.org/chart.js/-/chart.js-3.9.1.tgz)
  FetchContent_MakeAvailable(chart_js)
  set(EXPRUN_CHART_JS ${chart_js_SOURCE_DIR}/dist/chart.min.js)
  file(SHA256 ${EXPRUN_CHART_JS} chart_js_hash)
  if(NOT chart_js_hash STREQUAL fbc45926e6b46845a0f905552a0e0b1331049bff1115ecf94dbe0904d895e710)
    message(FATAL_ERROR "${EXPRUN_CHART_JS} is not Chart.js 3.9.1; get chart.min.js of the npm package chart.js 3.9.1 and "
                        "give its path with -DEXPRUN_CHART_JS=FILE")
  endif()
endif()
set(EXPRUN_CHARTS ${CMAKE_BINARY_DIR}/charts)
file(MAKE_DIRECTORY ${EXPRUN_CHARTS})
file(CREATE_LINK ${EXPRUN_CHART_JS} ${EXPRUN_CHARTS}/chart.js COPY_ON_ERROR SYMBOLIC)

# Draws the letters of `plot --png`: one header, so that no command loads a library for it.
if(NOT EXPRUN_FETCH)
  find_path(EXPRUN_STB stb_truetype.h PATH_SUFFIXES stb)
endif()
add_library(exprun_stb INTERFACE)
if(EXPRUN_STB)
  target_include_directories(exprun_stb SYSTEM INTERFACE ${EXPRUN_STB})
else()
  exprun_fetch(stb nothings/stb 8b5f1f37b5b75829fc72d38e7b5d4bcbf8a26d55)
  target_include_directories(exprun_stb SYSTEM INTERFACE ${stb_SOURCE_DIR})
endif()

# Their font, embedded: it is the same version everywhere, and so are the pictures.
set(EXPRUN_FONTS ${CMAKE_BINARY_DIR}/fonts)
file(MAKE_DIRECTORY ${EXPRUN_FONTS})
if(NOT EXPRUN_FETCH)
  find_path(EXPRUN_DEJAVU DejaVuSans.ttf PATHS /usr/share/fonts/truetype/dejavu /usr/share/fonts/dejavu-sans-fonts
            /usr/share/fonts/dejavu /usr/share/fonts/TTF)
endif()
if(NOT EXPRUN_DEJAVU)
  set(dejavu dejavu-fonts/dejavu-fonts/releases/download/version_2_37/dejavu-fonts-ttf-2.37.tar.bz2)
  message(STATUS "dejavu is fetched: ${dejavu}")
  FetchContent_Declare(dejavu URL https://github.com/${dejavu})
  FetchContent_MakeAvailable(dejavu)
  set(EXPRUN_DEJAVU ${dejavu_SOURCE_DIR}/ttf)
endif()
foreach(style "" -Bold)
  file(CREATE_LINK ${EXPRUN_DEJAVU}/DejaVuSans${style}.ttf ${EXPRUN_FONTS}/DejaVuSans${style}.ttf COPY_ON_ERROR SYMBOLIC)
endforeach()

if(EXPRUN_TRAINER)
  exprun_pkg_config(hwy libhwy)
  if(hwy_FOUND)
    exprun_dependency(highway PkgConfig::hwy)
  else()
    set(HWY_ENABLE_CONTRIB OFF CACHE INTERNAL "")
    set(HWY_ENABLE_EXAMPLES OFF CACHE INTERNAL "")
    set(HWY_ENABLE_TESTS OFF CACHE INTERNAL "")
    set(HWY_ENABLE_INSTALL OFF CACHE INTERNAL "")
    exprun_fetch(highway google/highway refs/tags/1.0.3)
    exprun_dependency(highway hwy)
  endif()
  # What kernels are compiled for: SSE4, AVX2 and AVX-512 on x86, the plain fallback elsewhere.
  target_compile_definitions(exprun_highway INTERFACE
    HWY_DISABLED_TARGETS=\(HWY_SSSE3|HWY_AVX3_DL|HWY_NEON|HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128|HWY_RVV\))
endif()

# fmt is a library of its own: LibTorch carries another version inside, which must not meet ours.
exprun_find_or_fetch(fmt fmtlib/fmt a33701196adfad74917046096bf5a2aa0ab0bb50)  # 9.1.0
set(SPDLOG_FMT_EXTERNAL ON CACHE INTERNAL "")
exprun_find_or_fetch(spdlog gabime/spdlog 76fb40d95455f249bd70824ecfcae7a8f0930fa3)  # 1.10.0
exprun_dependency(spdlog spdlog::spdlog fmt::fmt Threads::Threads)

exprun_find_or_fetch(nlohmann_json nlohmann/json bc889afb4c5bf1c0d8ee29ef35eaaf4c8bef8a5d)  # 3.11.2
exprun_dependency(json nlohmann_json::nlohmann_json)

exprun_find_or_fetch(tomlplusplus marzer/tomlplusplus c635f218c0aefc801d9748841930365e54fe3089)  # 3.3.0
exprun_dependency(tomlplusplus tomlplusplus::tomlplusplus)

# A fetched SQLiteCpp brings the SQLite that it was tested with where the system has none.
exprun_pkg_config(sqlite3 sqlite3)
if(sqlite3_FOUND)
  set(SQLITECPP_INTERNAL_SQLITE OFF CACHE INTERNAL "")
endif()
set(SQLITECPP_RUN_CPPLINT OFF CACHE INTERNAL "")
set(SQLITECPP_RUN_CPPCHECK OFF CACHE INTERNAL "")
exprun_find_or_fetch(SQLiteCpp SRombauts/SQLiteCpp bd5bf7996adaafad736ec5b4a185e9822edbe95c)  # 3.2.1
if(sqlite3_FOUND)
  exprun_dependency(sqlitecpp SQLiteCpp PkgConfig::sqlite3)
else()
  exprun_dependency(sqlitecpp SQLiteCpp sqlite3)
endif()

exprun_find_or_fetch(CLI11 CLIUtils/CLI11 70f8072f9dd2292fd0b9f9e5f58e279f60483ed3)  # 2.1.2
exprun_dependency(cli11 CLI11::CLI11)

if(EXPRUN_TESTS)
  set(DOCTEST_WITH_TESTS OFF CACHE INTERNAL "")
  exprun_find_or_fetch(doctest doctest/doctest b7c21ec5ceeadb4951b00396fc1e4642dd347e5f)  # 2.4.9
  exprun_dependency(doctest doctest::doctest)
endif()
