# Compiler cache, linker and warnings.
find_program(CCACHE ccache)
if(CCACHE)
  # The sloppiness lets ccache serve files that use the precompiled header; base_dir makes clones share entries.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_library(tessera_flags INTERFACE)
# No errno from sqrt: with it gcc does not vectorise the optimizer loops.
# The three -Wno: gcc 12 at -O3 sees overlaps and overflows in std::string and std::vector that are not there (its bug 105651
# and kin); the sanitizer build looks for real ones.
target_compile_options(tessera_flags INTERFACE -Wall -Wextra -Werror -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds
                       -fpch-preprocess -fno-math-errno)
target_include_directories(tessera_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
if(TESSERA_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
  target_compile_options(tessera_flags INTERFACE -Wno-error)  # instrumented code warns of what is not there; the normal build is the judge
endif()
