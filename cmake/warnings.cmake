# SPDX-License-Identifier: Apache-2.0
# One list of warnings for everything that we compile.
set(HF_WARNINGS
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow
  -Wstrict-prototypes -Wmissing-prototypes -Wswitch-enum -Wvla -Wundef
  -Wcast-qual -Wwrite-strings)
if(CMAKE_C_COMPILER_ID MATCHES "Clang")
  list(APPEND HF_WARNINGS -Wdocumentation -Wcomma
    -Wmissing-variable-declarations)
endif()
if(HF_WERROR)
  list(APPEND HF_WARNINGS -Werror)
endif()
