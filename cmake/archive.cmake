# SPDX-License-Identifier: Apache-2.0
# Archives of other libraries, to be linked into our shared objects. In a program
# that has another version of the same library, or one that it contains, the
# dynamic linker would give the program's functions to our calls too: names
# without a symbol version go to the first object that has them. The names of an
# archive stay local to the object that it is linked into.
#
#   hf_find_archive(VAR NAME FOLDER...)
#
# VAR_ARCHIVE is the file libNAME.a, if there is one, and VAR_IS_PIC whether it
# can be linked into a shared object: a distribution may compile it otherwise.
function(hf_find_archive var name)
  find_library(${var}_ARCHIVE NAMES lib${name}.a HINTS ${ARGN})
  set(${var}_IS_PIC FALSE PARENT_SCOPE)
  if(NOT ${var}_ARCHIVE)
    message(STATUS "no lib${name}.a: lib${name}.so is linked")
    return()
  endif()
  hf_target_flags(flags)
  execute_process(COMMAND "${CMAKE_C_COMPILER}" ${flags} -fno-lto -shared
      -nostdlib -Wl,-z,text -o "${CMAKE_BINARY_DIR}/${name}_is_pic.so"
      -Wl,--whole-archive "${${var}_ARCHIVE}" -Wl,--no-whole-archive
    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  file(REMOVE "${CMAKE_BINARY_DIR}/${name}_is_pic.so")
  if(failed EQUAL 0)
    set(${var}_IS_PIC TRUE PARENT_SCOPE)
  else()
    message(STATUS "${${var}_ARCHIVE} is not PIC: lib${name}.so is linked")
  endif()
endfunction()

# Those of the user's flags that select the target.
function(hf_target_flags var)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_C_FLAGS}")
  list(FILTER flags INCLUDE REGEX "^(-m|--target=|--sysroot=)")
  set(${var} "${flags}" PARENT_SCOPE)
endfunction()
