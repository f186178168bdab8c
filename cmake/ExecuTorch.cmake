# The ExecuTorch wheel: its C++ runtime (executorch::*) and the schemas of what we write.
#
# Sets LAYLINE_EXECUTORCH_DIR, the `executorch` folder of the wheel, from .venv unless given.
if(NOT LAYLINE_EXECUTORCH_DIR)
  set(python "${PROJECT_SOURCE_DIR}/.venv/bin/python")
  if(NOT EXISTS "${python}" AND SKBUILD)
    # pip's own environment must not leak into the one that is filled here.
    execute_process(COMMAND "${CMAKE_COMMAND}" -E env --unset=PYTHONPATH
                            "${PROJECT_SOURCE_DIR}/scripts/setup" COMMAND_ERROR_IS_FATAL ANY)
  endif()
  if(NOT EXISTS "${python}")
    message(FATAL_ERROR "There is no .venv here: run scripts/setup, or set LAYLINE_EXECUTORCH_DIR "
                        "to the executorch folder of an installed executorch wheel.")
  endif()
  # Located without importing it: the package needs torch to be imported.
  execute_process(
    COMMAND "${python}" -c
            "import importlib.util as u; print(u.find_spec('executorch').submodule_search_locations[0])"
    OUTPUT_VARIABLE located
    OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET
    RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "executorch is not installed in .venv: run scripts/setup.")
  endif()
  set(LAYLINE_EXECUTORCH_DIR "${located}" CACHE PATH "The executorch folder of the wheel")
endif()

find_package(executorch CONFIG REQUIRED
             COMPONENTS kernels_optimized kernels_quantized backend_xnnpack threadpool etdump
             PATHS "${LAYLINE_EXECUTORCH_DIR}/share/cmake" NO_DEFAULT_PATH)
