# libtorch without its own CMake package, which wants a CUDA toolkit: two libraries and their headers are all we need.
if(NOT EXISTS ${TESSERA_TORCH}/lib/libtorch_cpu.so)
  message(FATAL_ERROR "no libtorch in ${TESSERA_TORCH}: run scripts/setup, or set TESSERA_TORCH to the folder of a torch 2.11 package")
endif()
file(STRINGS ${TESSERA_TORCH}/version.py version_line REGEX "^__version__")
if(NOT version_line MATCHES "2\\.11\\.")
  message(FATAL_ERROR "expected torch 2.11 in ${TESSERA_TORCH}, found: ${version_line}")
endif()

add_library(torch_cpu INTERFACE)
# After the system's own headers: the wheel carries other versions of fmt and nlohmann-json.
foreach(folder include include/torch/csrc/api/include)
  target_compile_options(torch_cpu INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-idirafter ${TESSERA_TORCH}/${folder}>"
                                             "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Xcompiler -idirafter,${TESSERA_TORCH}/${folder}>")
endforeach()
target_compile_definitions(torch_cpu INTERFACE USE_C10D_GLOO USE_DISTRIBUTED)
# libtorch_cpu.so finds cudart and cupti beside it (its own rpath); other libraries it names are needed on GPU machines only.
target_link_options(torch_cpu INTERFACE -Wl,--allow-shlib-undefined -Wl,-rpath,${TESSERA_TORCH}/lib)
target_link_libraries(torch_cpu INTERFACE ${TESSERA_TORCH}/lib/libtorch_cpu.so ${TESSERA_TORCH}/lib/libc10.so)
