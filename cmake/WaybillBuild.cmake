# How everything is compiled: compiler cache, linker, warnings, sanitizers.

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Paths relative to the checkout: a second checkout, or a second build folder, finds what the first has compiled.
  set(launcher "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${CCACHE_PROGRAM}")
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
endif()

find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# NDEBUG stays unset: programmer errors assert in production too.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1" CACHE STRING "" FORCE)
set(CMAKE_C_FLAGS_RELEASE "-O2 -g1" CACHE STRING "" FORCE)
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1 -fno-omit-frame-pointer" CACHE STRING "")
set(CMAKE_C_FLAGS_SANITIZE "-O1 -g1 -fno-omit-frame-pointer" CACHE STRING "")

set(WAYBILL_SANITIZE "" CACHE STRING "Sanitizers, such as address,undefined or thread")
if(WAYBILL_SANITIZE)
  add_compile_options(-fsanitize=${WAYBILL_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${WAYBILL_SANITIZE})
endif()

add_library(waybill_warnings INTERFACE)
target_compile_options(waybill_warnings INTERFACE -Wall -Wextra -Wconversion -Wshadow -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(waybill_warnings INTERFACE -Wthread-safety)
endif()
