# tessera_layer(name SOURCES ... TESTS ... DEPENDS ... [TORCH] [LABELS ...])
#
# One static library per layer and one test program beside it. DEPENDS states the arrows of docs/architecture.md; the ctest
# `include_direction` checks that includes follow them. TORCH layers share one precompiled header.
function(tessera_layer name)
  cmake_parse_arguments(LAYER "TORCH" "" "SOURCES;TESTS;DEPENDS;LABELS" ${ARGN})
  set(library tessera_${name})
  add_library(${library} STATIC ${LAYER_SOURCES})
  target_link_libraries(${library} PUBLIC tessera_flags ${LAYER_DEPENDS})
  if(LAYER_TORCH)
    target_link_libraries(${library} PUBLIC torch_cpu)
    tessera_torch_pch(${library})
  endif()
  if(LAYER_TESTS)
    tessera_test(${name}_test SOURCES ${LAYER_TESTS} LIBRARIES ${library} LABELS unit ${LAYER_LABELS})
    if(LAYER_TORCH)
      target_sources(${name}_test PRIVATE ${CMAKE_SOURCE_DIR}/tests/support/torch_main.cpp)
      tessera_torch_pch(${name}_test)
    else()
      target_link_libraries(${name}_test PRIVATE GTest::gtest_main)
      target_compile_options(${name}_test PRIVATE -O1)  # tests are built more often than run; the shared header fixes it for the others
    endif()
  endif()
endfunction()

function(tessera_torch_pch target)
  if(target STREQUAL tessera_tensor)
    target_precompile_headers(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src/tensor/pch.h)
    return()
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    # CMake compiles programs with -fPIE; the header was made with -fPIC and gcc wants the same.
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  target_precompile_headers(${target} REUSE_FROM tessera_tensor)
endfunction()

# tessera_test(name SOURCES ... LIBRARIES ... LABELS ...): a GoogleTest program, one ctest entry per test case.
function(tessera_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  add_executable(${name} ${TEST_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${TEST_LIBRARIES} test_support GTest::gtest nlohmann_json::nlohmann_json)
  # Discovery would start the program (and load 450 MB of libtorch) once per test; a suite per program starts it once.
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  # One thread each: ctest runs several at a time, and OpenMP threads that wait for one another spin.
  set_tests_properties(${name} PROPERTIES LABELS "${TEST_LABELS}" TIMEOUT 600 ENVIRONMENT OMP_NUM_THREADS=1)
endfunction()
