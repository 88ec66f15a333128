# SPDX-License-Identifier: Apache-2.0
# A static library is one object, in which only its public names are global, so
# that a program may have functions of its own with any other name.
#
#   hf_public_names(VAR MAP)     those of the shared library, from its version
#                                script
#   hf_static_object(VAR NAME NAMES FILE...)
#                                VAR is the object's file; NAMES are global; of
#                                archives it gets what it needs
#
# The compiler makes it (ld -r), since it knows the target. It gets no flags but
# those that select one: with others it would add its runtime (--coverage), or
# leave code to link-time optimization, with all names.
function(hf_public_names var map)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${map}")
  file(STRINGS "${map}" names REGEX "^ +hf_[a-z_]+;$")
  list(TRANSFORM names REPLACE "[ ;]" "")
  set(${var} "${names}" PARENT_SCOPE)
endfunction()

function(hf_static_object var name names)
  list(JOIN names "\n" names)
  set(list "${PROJECT_BINARY_DIR}/generated/${name}_symbols.txt")
  file(CONFIGURE OUTPUT "${list}" CONTENT "${names}\n" @ONLY)
  set(whole "${PROJECT_BINARY_DIR}/generated/${name}_whole.o")
  set(out "${PROJECT_BINARY_DIR}/generated/${name}.o")
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
