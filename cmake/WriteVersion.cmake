# Run at every build: writes OUTPUT from INPUT with the commit of SOURCE, "+" behind it when files differ from it. The file is only touched
# when that changes, so nothing is compiled for nothing.
execute_process(COMMAND git -C ${SOURCE} rev-parse --short HEAD OUTPUT_VARIABLE TESSERA_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE
                ERROR_QUIET)
if(NOT TESSERA_COMMIT)
  set(TESSERA_COMMIT unknown)
else()
  execute_process(COMMAND git -C ${SOURCE} diff --quiet HEAD -- src cmake RESULT_VARIABLE differs ERROR_QUIET)
  if(differs)
    string(APPEND TESSERA_COMMIT "+")
  endif()
endif()
configure_file(${INPUT} ${OUTPUT} @ONLY)
