# SPDX-License-Identifier: Apache-2.0
# The static library: one object, in which only the public functions are global,
# so that a program may have functions of its own with any other name. Which are
# public is read from the version script of the shared library.
#
#   hf_static_object(VAR MAP FILE...)   VAR is the object's file; of archives
#                                       it gets what it needs
#
# The compiler makes it (ld -r), since it knows the target. It gets no flags but
# those that select one: with others it would add its runtime (--coverage), or
# leave code to link-time optimization, with all names.
function(hf_static_object var map)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${map}")
  file(STRINGS "${map}" names REGEX "^ +hf_[a-z_]+;$")
  list(TRANSFORM names REPLACE "[ ;]" "")
  list(JOIN names "\n" names)
  set(list "${PROJECT_BINARY_DIR}/generated/public_symbols.txt")
  file(CONFIGURE OUTPUT "${list}" CONTENT "${names}\n" @ONLY)
  set(whole "${PROJECT_BINARY_DIR}/generated/holdfast_whole.o")
  set(out "${PROJECT_BINARY_DIR}/generated/holdfast.o")
  hf_target_flags(flags)
  add_custom_command(OUTPUT "${out}"
    COMMAND "${CMAKE_C_COMPILER}" ${flags} -fno-lto -r -nostdlib -o "${whole}"
      ${ARGN}
    COMMAND "${CMAKE_OBJCOPY}" "--keep-global-symbols=${list}" "${whole}"
      "${out}"
    COMMAND "${CMAKE_COMMAND}" -E rm "${whole}"
    DEPENDS ${ARGN} "${list}" COMMAND_EXPAND_LISTS VERBATIM)
  set(${var} "${out}" PARENT_SCOPE)
endfunction()
