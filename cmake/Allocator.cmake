# layline_allocator: jemalloc for the compiler. Placement makes millions of small vectors, and
# with glibc's allocator two fifths of its time went into malloc and free (docs/benchmarks.md,
# "Placement"). Static, so that the command needs no further library. Sanitizers bring their own.
add_library(layline_allocator INTERFACE)
if(NOT CMAKE_BUILD_TYPE STREQUAL "Asan")
  find_library(jemalloc_LIBRARY NAMES libjemalloc_pic.a libjemalloc.a REQUIRED)
  find_package(Threads REQUIRED)
  target_link_libraries(layline_allocator INTERFACE "${jemalloc_LIBRARY}" Threads::Threads
                                                    ${CMAKE_DL_LIBS})
endif()
