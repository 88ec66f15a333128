# SPDX-License-Identifier: Apache-2.0
# Fuzz targets (fuzz/README.md): each C file of fuzz/ that has
# LLVMFuzzerTestOneInput() is one. With HF_FUZZ (clang) it becomes
# fuzz/TARGET, driven by libFuzzer; without, fuzz/replay-TARGET, which runs
# over files with any compiler: replay.c is the driver. What a target needs
# besides it says in lines of its own:
#   /* with: redis_fake.c */
#   /* link: -Wl,--wrap=read */
#   /* library: hf_http */
# Without that library of this build the target is left out.
if(NOT TARGET hf_cli)
  return()
endif()
if(HF_FUZZ AND NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "HF_FUZZ needs clang: -DCMAKE_C_COMPILER=clang")
endif()

hf_glob(sources "fuzz/*.c")
set(targets "")
foreach(source IN LISTS sources)
  file(STRINGS "${source}" entry REGEX "^int LLVMFuzzerTestOneInput\\(")
  hf_library_of(library "${source}")
  if(library AND NOT TARGET ${library})
    message(STATUS "no ${library}: ${source} is not built")
  elseif(entry)
    list(APPEND targets "${source}")
  endif()
endforeach()

# Only what a target asks for is taken from it, so main() stays away.
add_library(hf_fuzz_cli STATIC $<TARGET_OBJECTS:hf_cli>)
set_target_properties(hf_fuzz_cli PROPERTIES LINKER_LANGUAGE C)
target_link_libraries(hf_fuzz_cli INTERFACE holdfast_parts)

if(HF_FUZZ)
  set(driver "")
else()
  add_library(hf_fuzz_replay OBJECT "${PROJECT_SOURCE_DIR}/fuzz/replay.c")
  target_link_libraries(hf_fuzz_replay PRIVATE hf_settings)
  set(driver $<TARGET_OBJECTS:hf_fuzz_replay>)
endif()
foreach(source IN LISTS targets)
  get_filename_component(name "${source}" NAME_WE)
  set(target "fuzz-${name}")
  file(STRINGS "${source}" with REGEX "^/\\* with: .* \\*/$")
  string(REGEX REPLACE "/\\* with: ([a-z_]+\\.c) \\*/"
    "${PROJECT_SOURCE_DIR}/fuzz/\\1" with "${with}")
  add_executable(${target} "${source}" ${with} ${driver})
  set_target_properties(${target} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzz"
    OUTPUT_NAME "$<IF:$<BOOL:${HF_FUZZ}>,${name},replay-${name}>")
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/cli")
  hf_library_of(library "${source}")
  target_link_libraries(${target} PRIVATE hf_fuzz_cli ${library} holdfast_parts
    hf_settings)
  file(STRINGS "${source}" link REGEX "^/\\* link: .* \\*/$")
  foreach(line IN LISTS link)
    string(REGEX REPLACE "^/\\* link: (.*) \\*/$" "\\1" line "${line}")
    separate_arguments(line UNIX_COMMAND "${line}")
    target_link_options(${target} PRIVATE ${line})
  endforeach()
  if(HF_FUZZ)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  endif()
endforeach()
