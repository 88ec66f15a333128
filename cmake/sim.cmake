# SPDX-License-Identifier: Apache-2.0
# hfsim: the shipped object files of everything above src/io, and a simulated
# world below (sim/world/world.h).
#
#   hf_sim_redis   sim/redis, the simulated server: tests link it alone
#   hf_sim         the rest of sim/ but main.c: tests link it too
#   hfsim          the program
pkg_check_modules(LUA51 IMPORTED_TARGET lua5.1)
if(NOT LUA51_FOUND)
  message(STATUS "no Lua 5.1: hfsim is not built")
  return()
endif()
# From its archive, where there is one: calls within Lua are direct then, and
# sim/redis/libc_numbers.c can take the place of libc's functions in it.
find_library(LUA51_ARCHIVE NAMES liblua5.1.a HINTS ${LUA51_LIBRARY_DIRS})
if(LUA51_ARCHIVE)
  set(LUA51_CHEAP ${LUA51_ARCHIVE} m ${CMAKE_DL_LIBS})
else()
  set(LUA51_CHEAP PkgConfig::LUA51)
endif()

set(HF_SIM_MAIN "${PROJECT_SOURCE_DIR}/sim/hfsim/main.c")
hf_glob(HF_SIM_REDIS_SOURCES "sim/redis/*.c")
hf_glob(HF_SIM_SOURCES "sim/hfsim/*.c" "sim/world/*.c" "sim/local/*.c"
  "sim/oracle/*.c" "sim/story/*.c" "sim/svg/*.c")
list(REMOVE_ITEM HF_SIM_SOURCES "${HF_SIM_MAIN}")

function(hf_sim_settings target)
  target_link_libraries(${target} PRIVATE hf_settings)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/sim")
  target_include_directories(${target} SYSTEM PRIVATE ${LUA51_INCLUDE_DIRS})
endfunction()

# The simulated server alone: tests compare it with a real one.
if(HF_SIM_REDIS_SOURCES)
  add_library(hf_sim_redis STATIC ${HF_SIM_REDIS_SOURCES})
  hf_sim_settings(hf_sim_redis)
  target_link_libraries(hf_sim_redis PRIVATE ${LUA51_CHEAP})
  target_link_options(hf_sim_redis INTERFACE -Wl,--wrap=strtod
    -Wl,--wrap=sprintf -Wl,--wrap=__sprintf_chk)
  target_include_directories(hf_sim_redis INTERFACE "${PROJECT_SOURCE_DIR}/sim")
endif()

if(EXISTS "${HF_SIM_MAIN}")
  include(cmake/embed_stories.cmake)
  hf_glob(HF_STORIES "sim/scenarios/*.story")
  hf_embed_stories(HF_SCENARIOS ${HF_STORIES})
  add_library(hf_sim OBJECT ${HF_SIM_SOURCES} ${HF_SCENARIOS})
  hf_sim_settings(hf_sim)
  # What sim/world/io_shim.c replaces.
  set(HF_FLOOR "src/io/(clock|detached|loop|socket|resolve)\\.c")
  add_executable(hfsim "${HF_SIM_MAIN}"
    $<TARGET_OBJECTS:hf_sim> $<FILTER:${HF_OBJECTS},EXCLUDE,${HF_FLOOR}>)
  set_target_properties(hfsim PROPERTIES LINKER_LANGUAGE C)
  hf_sim_settings(hfsim)
  target_link_libraries(hfsim PRIVATE hf_sim_redis ${HF_STORE_LIBRARIES}
    Threads::Threads ${CMAKE_DL_LIBS} m)
  # Owners name a host and a process: the same in every run. And what the
  # embedded store asks of the kernel and of LMDB (sim/local/machine.h).
  foreach(call getpid gethostname
      open close mkdir fstat stat lstat statfs readlink flock posix_fallocate
      kill pthread_mutex_init pthread_mutex_trylock pthread_mutex_clocklock
      pthread_mutex_unlock pthread_mutex_consistent clock_gettime nanosleep
      socket setsockopt bind sendto recv mmap munmap madvise
      hf_txn_acquire hf_txn_yield hf_txn_confirm hf_txn_release
      hf_txn_break hf_txn_inspect hf_txn_mark hf_local_scan
      hf_local_queue_entries mdb_env_open mdb_txn_begin mdb_txn_abort mdb_txn_commit mdb_put)
    list(APPEND HF_SIM_WRAPS "-Wl,--wrap=${call}")
  endforeach()
  target_link_options(hfsim PRIVATE ${HF_SIM_WRAPS})
  target_link_options(hf_sim INTERFACE ${HF_SIM_WRAPS})
endif()
