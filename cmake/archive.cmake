# SPDX-License-Identifier: Apache-2.0
# Archives of other libraries, to be linked into our shared objects. In a program
# that has another version of the same library, or one that it contains, the
# dynamic linker would give the program's functions to our calls too: names
# without a symbol version go to the first object that has them. The names of an
# archive stay local to the object that it is linked into.
#
#   hf_find_archive(VAR NAME FOLDER...)
#   hf_find_inside(VAR NAME FOLDER...)
#
# VAR_ARCHIVE is the file libNAME.a, if there is one, and VAR_FITS whether it can
# be linked into a shared object: a distribution may compile it otherwise, or it
# needs other libraries. VAR is the archive if it fits, else the shared library.
function(hf_find_archive var name)
  find_library(${var}_ARCHIVE NAMES lib${name}.a HINTS ${ARGN})
  set(${var}_FITS FALSE PARENT_SCOPE)
  if(NOT ${var}_ARCHIVE)
    message(STATUS "no lib${name}.a: lib${name}.so is linked")
    return()
  endif()
  hf_target_flags(flags)
  set(object "${PROJECT_BINARY_DIR}/${name}_fits.so")
  execute_process(COMMAND "${CMAKE_C_COMPILER}" ${flags} -fno-lto -shared
      -pthread -Wl,-z,text -Wl,-z,defs -o "${object}"
      -Wl,--whole-archive "${${var}_ARCHIVE}" -Wl,--no-whole-archive
    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  file(REMOVE "${object}")
  if(failed EQUAL 0)
    set(${var}_FITS TRUE PARENT_SCOPE)
  else()
    message(STATUS "${${var}_ARCHIVE} is not PIC, or needs other libraries: "
      "lib${name}.so is linked")
  endif()
endfunction()

function(hf_find_inside var name)
  find_library(${var} NAMES ${name} HINTS ${ARGN})
  if(${var})
    hf_find_archive(${var} ${name} ${ARGN})
    if(${var}_FITS)
      set(${var} "${${var}_ARCHIVE}" PARENT_SCOPE)
    endif()
  endif()
endfunction()

# Those of the user's flags that select the target.
function(hf_target_flags var)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_C_FLAGS}")
  list(FILTER flags INCLUDE REGEX "^(-m|--target=|--sysroot=)")
  set(${var} "${flags}" PARENT_SCOPE)
endfunction()
