# tessera_layer(name SOURCES ... TESTS ... DEPENDS ... [TORCH] [CALLS] [LABELS ...] [GPU_TESTS filter])
#
# One static library per layer and one test program beside it. DEPENDS states the arrows of docs/architecture.md; the ctest
# `include_direction` checks that includes follow them. TORCH layers share one precompiled header. CALLS: the layer has no loops over
# pixels or weights of its own, it calls those that do; it is compiled with -O1, which takes a quarter less time. GPU_TESTS are the tests
# of the program that run once more, on a GPU, as the ctest entry NAME_test_gpu.
function(tessera_layer name)
  cmake_parse_arguments(LAYER "TORCH;CALLS" "GPU_TESTS" "SOURCES;TESTS;DEPENDS;LABELS" ${ARGN})
  set(library tessera_${name})
  tessera_group(LAYER_SOURCES)
  add_library(${library} STATIC ${LAYER_SOURCES})
  target_link_libraries(${library} PUBLIC tessera_flags ${LAYER_DEPENDS})
  if(LAYER_TORCH)
    target_link_libraries(${library} PUBLIC torch_cpu)
    tessera_torch_pch(${library})
  endif()
  if(LAYER_CALLS)
    target_compile_options(${library} PRIVATE -O1)
  endif()
  if(LAYER_TESTS)
    tessera_test(${name}_test SOURCES ${LAYER_TESTS} LIBRARIES ${library} LABELS unit ${LAYER_LABELS})
    if(LAYER_TORCH)
      target_sources(${name}_test PRIVATE $<TARGET_OBJECTS:torch_test_main>)
      tessera_torch_pch(${name}_test)
    else()
      target_sources(${name}_test PRIVATE $<TARGET_OBJECTS:plain_test_main>)
    endif()
    if(LAYER_GPU_TESTS)
      tessera_ctest(${name}_test_gpu ${name}_test --gtest_filter=${LAYER_GPU_TESTS} LABELS gpu ENVIRONMENT TESSERA_TEST_DEVICE=cuda)
      set_tests_properties(${name}_test_gpu PROPERTIES RESOURCE_LOCK gpu)
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

# tessera_test(name SOURCES ... LIBRARIES ... LABELS ...): a GoogleTest program and its ctest entry. Tests of suites named *Gpu need a
# GPU and have an entry of their own (GPU_TESTS of tessera_layer).
function(tessera_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  tessera_group(TEST_SOURCES)
  add_executable(${name} ${TEST_SOURCES})
  target_compile_options(${name} PRIVATE -O1)  # tests are built more often than run
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${TEST_LIBRARIES} test_support GTest::gtest nlohmann_json::nlohmann_json)
  tessera_ctest(${name} ${name} --gtest_filter=-*Gpu.* LABELS ${TEST_LABELS})
endfunction()

# tessera_ctest(entry program argument... LABELS ... [ENVIRONMENT ...]): discovery would start the program (and load 450 MB of libtorch)
# once per test; an entry per program starts it once. One thread each: ctest runs several at a time, and OpenMP threads that wait for
# one another spin.
function(tessera_ctest entry program)
  cmake_parse_arguments(RUN "" "" "LABELS;ENVIRONMENT" ${ARGN})
  add_test(NAME ${entry} COMMAND ${program} --gtest_brief=1 ${RUN_UNPARSED_ARGUMENTS})
  set_tests_properties(${entry} PROPERTIES LABELS "${RUN_LABELS}" TIMEOUT 600 SKIP_RETURN_CODE 77
                       ENVIRONMENT "OMP_NUM_THREADS=1;${RUN_ENVIRONMENT}")
endfunction()

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/group_sources.py)

# tessera_group(LIST): in place of the sources of this folder that the list names, files that include several of them each; see
# group_sources.py. With TESSERA_GROUP_SOURCES=OFF every source is compiled by itself.
function(tessera_group list)
  if(NOT TESSERA_GROUP_SOURCES)
    return()
  endif()
  set(own ${${list}})
  list(FILTER own EXCLUDE REGEX "^[/$]")  # generated, objects, or of another folder
  set(result ${${list}})
  list(FILTER result INCLUDE REGEX "^[/$]")
  if(NOT own)
    return()
  endif()
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  execute_process(COMMAND python3 ${CMAKE_SOURCE_DIR}/cmake/group_sources.py ${CMAKE_CURRENT_SOURCE_DIR} ${folder} ${TESSERA_GROUP_SIZE} ${own}
                  OUTPUT_VARIABLE groups OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE ";" "|" groups "${groups}")
  string(REPLACE "\n" ";" groups "${groups}")
  foreach(group ${groups})
    string(REPLACE "|" ";" files "${group}")
    list(LENGTH files count)
    if(count EQUAL 1)
      list(APPEND result ${CMAKE_SOURCE_DIR}/src/${files})
      continue()
    endif()
    list(GET files 0 first)
    string(REGEX REPLACE "\\.cpp$" "_and_more.cpp" unit ${CMAKE_BINARY_DIR}/groups/${first})
    list(TRANSFORM files REPLACE ".+" "#include \"\\0\"\n" OUTPUT_VARIABLE includes)
    list(JOIN includes "" includes)
    file(CONFIGURE OUTPUT ${unit} CONTENT "${includes}" @ONLY)
    list(APPEND result ${unit})
  endforeach()
  set(${list} ${result} PARENT_SCOPE)
endfunction()
