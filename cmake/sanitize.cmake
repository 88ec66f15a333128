# SPDX-License-Identifier: Apache-2.0
# HF_SANITIZE applies to all of the build; a finding ends the program.
if(HF_FUZZ)
  set(HF_SANITIZE "address,undefined,fuzzer-no-link")
  # With each comparison traced, a test that computes takes half as long again.
  # The depth of the stack depends on where it begins, which is random.
  if(HF_FUZZ STREQUAL "edges")
    add_compile_options(-fno-sanitize-coverage=trace-cmp,stack-depth)
  endif()
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
