# Release (the default), Debug, Asan and Coverage: the flags that differ between them.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug, Asan or Coverage" FORCE)
endif()

set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g -D_GLIBCXX_ASSERTIONS")

# No -g: it doubles the compile time, and the sanitizers name functions without it. The checks that
# are left out find what AddressSanitizer finds as well, and take a third of the compile time.
set(asan_flags "-fsanitize=address,undefined -fno-sanitize=null,object-size,vptr \
-fno-sanitize-recover=all")
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # What libFuzzer needs to see which way a program takes: the same build is tested and fuzzed.
  string(APPEND asan_flags " -fno-sanitize=function -fsanitize=fuzzer-no-link")
else()
  string(APPEND asan_flags " -Wno-error")  # g++ reports false warnings in instrumented code
endif()
set(CMAKE_CXX_FLAGS_ASAN "-O1 -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS ${asan_flags}")
set(CMAKE_EXE_LINKER_FLAGS_ASAN "${asan_flags}")

set(CMAKE_CXX_FLAGS_COVERAGE "-O0 --coverage -fprofile-update=atomic")

# Both only make the build faster.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()
