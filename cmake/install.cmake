# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where; pkg-config file and CMake package.
include(CMakePackageConfigHelpers)

install(TARGETS holdfast holdfast_static EXPORT HoldfastTargets)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/holdfast"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
if(TARGET holdfast_cli)
  install(TARGETS holdfast_cli)
  install(FILES "${PROJECT_SOURCE_DIR}/completions/holdfast.bash"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
    RENAME holdfast)
  install(FILES "${PROJECT_SOURCE_DIR}/completions/_holdfast"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
  install(FILES "${PROJECT_SOURCE_DIR}/completions/holdfast.fish"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
endif()
if(TARGET holdfast_top)
  install(TARGETS holdfast_top DESTINATION "${HF_MODULE_DESTINATION}")
endif()
if(TARGET holdfast-tls)
  install(TARGETS holdfast-tls
    LIBRARY DESTINATION "${HF_MODULE_DESTINATION}")
endif()
if(TARGET holdfast_tls_static)
  install(TARGETS holdfast_tls_static EXPORT HoldfastTargets)
endif()
if(EXISTS "${PROJECT_SOURCE_DIR}/docs/holdfast.1")
  install(FILES "${PROJECT_SOURCE_DIR}/docs/holdfast.1"
    DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
endif()

set(HF_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/Holdfast")
install(EXPORT HoldfastTargets NAMESPACE Holdfast::
  DESTINATION "${HF_PACKAGE_DIR}")
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/HoldfastConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/generated/HoldfastConfig.cmake"
  INSTALL_DESTINATION "${HF_PACKAGE_DIR}")
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/generated/HoldfastConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/generated/HoldfastConfig.cmake"
  "${PROJECT_BINARY_DIR}/generated/HoldfastConfigVersion.cmake"
  DESTINATION "${HF_PACKAGE_DIR}")

file(RELATIVE_PATH HF_PC_TO_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
list(TRANSFORM HF_STORE_NAMES PREPEND "-l" OUTPUT_VARIABLE HF_PC_STORES)
list(JOIN HF_PC_STORES " " HF_PC_STORES)
configure_file("${PROJECT_SOURCE_DIR}/cmake/holdfast.pc.in"
  "${PROJECT_BINARY_DIR}/generated/holdfast.pc" @ONLY)
set(HF_PC_FILES "${PROJECT_BINARY_DIR}/generated/holdfast.pc")
if(TARGET holdfast_tls_static)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/holdfast-tls.pc.in"
    "${PROJECT_BINARY_DIR}/generated/holdfast-tls.pc" @ONLY)
  list(APPEND HF_PC_FILES "${PROJECT_BINARY_DIR}/generated/holdfast-tls.pc")
endif()
install(FILES ${HF_PC_FILES} DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
