# Release (the default), Debug and Asan: the flags that differ between them.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug or Asan" FORCE)
endif()

set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g -D_GLIBCXX_ASSERTIONS")

# No -g: it doubles the compile time, and the sanitizers name functions without it. Warnings stay
# visible but do not stop the build, since g++ reports false ones in instrumented code.
set(asan_flags "-fsanitize=address,undefined -fno-sanitize-recover=all")
set(CMAKE_CXX_FLAGS_ASAN
    "-O1 -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS -Wno-error ${asan_flags}")
set(CMAKE_EXE_LINKER_FLAGS_ASAN "${asan_flags}")

# Both only make the build faster.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()
