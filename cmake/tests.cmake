# SPDX-License-Identifier: Apache-2.0
# Tests, their helpers, examples and benches: one executable per C file, in
# the folder of the build tree that bears its source's name.
#
#   tests/unit/*.c            cmocka, linked with the parts of the library
#   tests/conformance/*.c     the same against real servers; if NAME.t.sh
#                             stands beside NAME.c, that script drives it
#   tests/sim/*.c             the same, with the parts of the simulator
#   tests/ordered/*.c         the same, with src/store/ordered
#   tests/postgres/*.c        the same, with libpq
#   tests/mysql/*.c           the same, with libmariadb
#   tests/guard/*.c           tools of tests, with libpq and SQLite's library
#   tests/skeleton/*.c        a store, as a module: store-skeleton.so
#   tests/{cli,interop,chaos,lib}/*.c   tools of tests; *_shim.c: LD_PRELOAD
#   examples/*.c, bench/*.c   examples see the public header only
#
# A C file of tests/ or bench/ without main() is linked into every program of
# its folder.
#
# A test that needs more of the linker, or one of our libraries, says so in
# a line of its own; without that library it is not built:
#   /* link: -Wl,--wrap=malloc */
#   /* library: hf_sim_redis */
#
# With a line of this kind it is linked with a library that this build has, and
# built without it otherwise:
#   /* library, if built: store-postgres-objects */

find_library(HF_CMOCKA cmocka)
pkg_check_modules(UV IMPORTED_TARGET libuv)

# All that scripts/test runs with TSan: the tests of the client, and what they
# start.
add_custom_target(tests-client)
add_dependencies(tests-client holdfast_cli)
foreach(target holdfast-tls store-postgres)
  if(TARGET ${target})
    add_dependencies(tests-client ${target})
  endif()
endforeach()

# A test's optimization takes longer than the test computes: with a sanitizer any
# test's, and always in the contract, where the library and the server compute.
function(hf_unoptimized target folder)
  if(HF_SANITIZE OR folder STREQUAL "tests/conformance")
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

function(hf_program source folder)
  get_filename_component(name "${source}" NAME_WE)
  set(target "${folder}-${name}")
  string(REPLACE "/" "-" target "${target}")
  if(target MATCHES "^tests-(lib-|unit-test_client|conformance-client)")
    add_dependencies(tests-client ${target})
  endif()
  if(name MATCHES "_shim$")
    add_library(${target} MODULE "${source}")
    set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME "${name}"
      LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/${folder}"
      C_VISIBILITY_PRESET default)
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
    target_compile_options(${target} PRIVATE ${HF_WARNINGS})
    if(HF_SANITIZE) # it is loaded into programs that are not ours
      target_compile_options(${target} PRIVATE -fno-sanitize=all)
      target_link_options(${target} PRIVATE -fno-sanitize=all)
    endif()
    return()
  endif()
  add_executable(${target} "${source}")
  set_target_properties(${target} PROPERTIES OUTPUT_NAME "${name}"
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/${folder}")
  file(STRINGS "${source}" link REGEX "^/\\* link: .* \\*/$")
  foreach(line IN LISTS link)
    string(REGEX REPLACE "^/\\* link: (.*) \\*/$" "\\1" line "${line}")
    separate_arguments(line UNIX_COMMAND "${line}")
    target_link_options(${target} PRIVATE ${line})
  endforeach()
  hf_unoptimized(${target} "${folder}")
  hf_library_of(library "${source}")
  file(STRINGS "${source}" optional REGEX "^/\\* library, if built: .* \\*/$")
  string(REGEX REPLACE "^/\\* library, if built: (.*) \\*/$" "\\1" optional
    "${optional}")
  if(NOT TARGET "${optional}")
    set(optional "")
  endif()
  target_link_libraries(${target} PRIVATE ${library} ${optional} ${ARGN})
endfunction()

# The programs of one folder, and what they share, with the libraries given.
function(hf_programs folder)
  hf_glob(sources "${folder}/*.c")
  set(programs "")
  set(shared "")
  foreach(source IN LISTS sources)
    file(STRINGS "${source}" main REGEX "^int main\\(")
    file(STRINGS "${source}" uses_cmocka REGEX "#include <cmocka\\.h>")
    hf_library_of(library "${source}")
    if(uses_cmocka AND NOT HF_CMOCKA)
      message(STATUS "no cmocka: ${source} is not built")
    elseif(library AND NOT TARGET ${library})
      message(STATUS "no ${library}: ${source} is not built")
    elseif(main OR source MATCHES "_shim\\.c$")
      list(APPEND programs "${source}")
    else()
      list(APPEND shared "${source}")
    endif()
  endforeach()
  set(links ${ARGN} holdfast_parts hf_settings
    "$<$<BOOL:${HF_CMOCKA}>:${HF_CMOCKA}>")
  if(shared)
    string(REPLACE "/" "-" target "${folder}-shared")
    add_library(${target} OBJECT ${shared})
    target_link_libraries(${target} PRIVATE holdfast_parts hf_settings)
    hf_unoptimized(${target} "${folder}")
    list(APPEND links ${target})
  endif()
  foreach(source IN LISTS programs)
    hf_program("${source}" "${folder}" ${links})
  endforeach()
endfunction()

pkg_check_modules(libpq IMPORTED_TARGET libpq)
pkg_check_modules(libmariadb IMPORTED_TARGET libmariadb)
foreach(folder tests/unit tests/conformance tests/cli tests/interop tests/chaos
    tests/lib bench)
  hf_programs(${folder})
endforeach()
if(TARGET hf_sim)
  hf_programs(tests/sim hf_sim hf_sim_redis m)
endif()

# The machine of ordered entries on a simulated wire: no store of this build.
hf_glob(HF_ORDERED_SOURCES "src/store/ordered/*.c")
add_library(hf_ordered OBJECT ${HF_ORDERED_SOURCES})
target_link_libraries(hf_ordered PUBLIC holdfast_parts PRIVATE hf_settings)
hf_programs(tests/ordered hf_ordered)
if(libpq_FOUND)
  hf_programs(tests/postgres PkgConfig::libpq)
endif()
if(libmariadb_FOUND)
  hf_programs(tests/mysql PkgConfig::libmariadb)
endif()
pkg_check_modules(sqlite3 IMPORTED_TARGET sqlite3)
if(libpq_FOUND AND sqlite3_FOUND AND redis IN_LIST HF_STORES)
  hf_programs(tests/guard PkgConfig::libpq PkgConfig::sqlite3)
endif()

# A store that is a module, in a folder where only its own test looks for it.
hf_store_objects(tests/skeleton "${PROJECT_BINARY_DIR}/tests/skeleton"
  "skeleton;skel")

hf_glob(HF_EXAMPLE_SOURCES "examples/*.c")
foreach(source IN LISTS HF_EXAMPLE_SOURCES)
  file(STRINGS "${source}" uses_uv REGEX "#include <uv\\.h>")
  if(uses_uv AND NOT UV_FOUND)
    message(STATUS "no libuv: ${source} is not built")
  elseif(uses_uv)
    hf_program("${source}" examples holdfast_static PkgConfig::UV)
  else()
    hf_program("${source}" examples holdfast_static)
  endif()
endforeach()
