# SPDX-License-Identifier: Apache-2.0
# A store that is no part of the library: a module, which is loaded by the first
# URL with its scheme.
#
#   hf_store_module(NAME SCHEMES SCHEME... [PACKAGES MODULE...]
#                   [INSIDE MODULE...] [LIBRARIES TARGET...] [WITH FOLDER...])
#
# NAME is in capitals. The C files of src/store/name/, and of each src/store/
# FOLDER, which is a store of the same module, become store-SCHEME.so, with each
# folder of SQL files in it as a constant hf_SCHEME_text_FOLDER
# (cmake/embed_text.cmake), named for the first scheme; each other scheme is a
# link to it. PACKAGES and INSIDE are those of pkg-config; INSIDE are linked from
# their archives (cmake/archive.cmake). LIBRARIES are targets of this build. The
# store is left out, with a message, by HF_WITHOUT_NAME, and where one of these is
# missing. It is installed beside the TLS module.
#
# Every function of ours that a module calls is linked into it, from the parts
# of the library: the library exports nothing but what is public.

# store-SCHEME.so of the C files of the folders, and links for the other
# schemes. The first folder may have SQL. The objects are a library, too: a test
# that makes calls fail links them into its program (cmake/tests.cmake).
function(hf_store_objects folders output schemes)
  list(POP_FRONT schemes scheme)
  list(GET folders 0 folder)
  list(TRANSFORM folders APPEND "/*.c" OUTPUT_VARIABLE patterns)
  hf_glob(sources ${patterns})
  hf_glob(parts "${folder}/*/*.sql")
  set(texts "")
  foreach(part IN LISTS parts)
    get_filename_component(text "${part}" DIRECTORY)
    list(APPEND texts "${text}")
  endforeach()
  list(REMOVE_DUPLICATES texts)
  if(texts)
    hf_embed_text(text "hf_${scheme}_text" "store/${scheme}/schema.h" ${texts})
    list(APPEND sources "${text}")
  endif()
  add_library(store-${scheme}-objects OBJECT ${sources})
  target_link_libraries(store-${scheme}-objects PUBLIC ${ARGN} holdfast_parts
    hf_settings)
  add_library(store-${scheme} MODULE)
  set_target_properties(store-${scheme} PROPERTIES PREFIX "" LINKER_LANGUAGE C
    LIBRARY_OUTPUT_DIRECTORY "${output}")
  target_link_libraries(store-${scheme} PRIVATE store-${scheme}-objects)
  target_link_options(store-${scheme} PRIVATE -Wl,--as-needed
    -Wl,--exclude-libs,ALL)
  if(NOT HF_SANITIZE) # a sanitizer's functions are the program's
    target_link_options(store-${scheme} PRIVATE -Wl,-z,defs)
  endif()
  foreach(alias IN LISTS schemes)
    add_custom_command(TARGET store-${scheme} POST_BUILD
      COMMAND "${CMAKE_COMMAND}" -E create_symlink store-${scheme}.so
        "${output}/store-${alias}.so" VERBATIM)
  endforeach()
endfunction()

# A target with the archive of a package that was found, if it can be contained.
function(hf_store_inside var package)
  set(target hf_inside_${package})
  if(NOT TARGET ${target})
    hf_find_inside(${package}_LIBRARY ${${package}_LIBRARIES}
      ${${package}_LIBRARY_DIRS})
    add_library(${target} INTERFACE)
    target_include_directories(${target} SYSTEM INTERFACE
      ${${package}_INCLUDE_DIRS})
    target_link_libraries(${target} INTERFACE "${${package}_LIBRARY}")
  endif()
  set(${var} ${target} PARENT_SCOPE)
endfunction()

function(hf_store_module name)
  cmake_parse_arguments(PARSE_ARGV 1 store "" ""
    "SCHEMES;PACKAGES;INSIDE;LIBRARIES;WITH")
  option(HF_WITHOUT_${name} "Leave out the store module of this name" OFF)
  if(HF_WITHOUT_${name})
    return()
  endif()
  set(libraries "")
  foreach(package IN LISTS store_PACKAGES store_INSIDE)
    pkg_check_modules(${package} IMPORTED_TARGET ${package})
    if(NOT ${package}_FOUND)
      message(STATUS "no ${package}: the store ${store_SCHEMES} is not built")
      return()
    endif()
    if(package IN_LIST store_INSIDE)
      hf_store_inside(library ${package})
      list(APPEND libraries ${library})
    else()
      list(APPEND libraries PkgConfig::${package})
    endif()
  endforeach()
  foreach(library IN LISTS store_LIBRARIES)
    if(NOT TARGET ${library})
      message(STATUS "no ${library}: the store ${store_SCHEMES} is not built")
      return()
    endif()
    list(APPEND libraries ${library})
  endforeach()
  string(TOLOWER ${name} folder)
  list(TRANSFORM store_WITH PREPEND "src/store/")
  # Beside the library, where that looks for them.
  set(output "${PROJECT_BINARY_DIR}")
  if(CMAKE_LIBRARY_OUTPUT_DIRECTORY) # of another project
    set(output "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}")
  endif()
  hf_store_objects("src/store/${folder};${store_WITH}" "${output}"
    "${store_SCHEMES}" ${libraries})
  if(NOT HF_INSTALL)
    return()
  endif()
  list(POP_FRONT store_SCHEMES scheme)
  install(TARGETS store-${scheme}
    LIBRARY DESTINATION "${HF_MODULE_DESTINATION}")
  foreach(alias IN LISTS store_SCHEMES)
    install(FILES "${output}/store-${alias}.so" # a link
      DESTINATION "${HF_MODULE_DESTINATION}")
  endforeach()
endfunction()
