# SPDX-License-Identifier: Apache-2.0
# HF_SANITIZE applies to all of the build; a finding ends the program.
if(HF_FUZZ)
  set(HF_SANITIZE "address,undefined,fuzzer-no-link")
endif()
if(HF_SANITIZE)
  add_compile_options(-fsanitize=${HF_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${HF_SANITIZE})
  add_compile_definitions(HF_SANITIZED=1)
  if(HF_SANITIZE MATCHES "thread")
    add_compile_definitions(HF_SANITIZED_THREADS=1) # gcc and clang name it differently
  endif()
endif()
