# The whole build vocabulary: etcdop_library(), etcdop_binary(), etcdop_test(). No globs.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
option(ETCDOP_STATIC "Link everything statically" OFF)
set(ETCDOP_LEAVES_OUT "" CACHE STRING "What is not built unless it is named: tests, by-hand (programs that ctest does not run)")
option(ETCDOP_COUNTS_BRANCHES "Tests of what decides count the branches that they take (tools/coverage.sh); needs clang" OFF)
option(ETCDOP_PRECOMPILES "What most sources include is compiled once; OFF shows whether each includes what it uses" ON)
option(ETCDOP_FUZZ "The fuzzers of test/fuzz with libFuzzer; needs clang's -fsanitize=fuzzer-no-link" OFF)

find_package(GTest REQUIRED)
find_package(Threads REQUIRED)

# Finds each external library, by the name that EXTERNAL uses.
if(ETCDOP_STATIC)
  set(etcdop_suffix .a)
else()
  set(etcdop_suffix .so)
endif()
foreach(external ssl crypto nghttp2 protobuf-lite boost_context boost_json yaml-cpp z)
  find_library(path_${external} NAMES lib${external}${etcdop_suffix} REQUIRED)
  add_library(ext::${external} UNKNOWN IMPORTED)
  set_target_properties(ext::${external} PROPERTIES IMPORTED_LOCATION ${path_${external}})
endforeach()
set_property(TARGET ext::ssl PROPERTY INTERFACE_LINK_LIBRARIES ext::crypto)
set_property(TARGET ext::crypto PROPERTY INTERFACE_LINK_LIBRARIES Threads::Threads)

# A library may use the layers below its own: nothing beside it, nothing above. tools/tidy and docs/dev/architecture.md
# read this table, too.
foreach(layer "base=0" "sys=1" "api=1" "schedule=1" "http=2" "kube=3" "etcd=3" "s3=3" "runtime=4"
              "passes=5" "pods=6" "credentials=7" "members=8" "agents=8"
              "cluster=9" "member=9" "defrag=9" "snapshot=9" "snapshot_schedule=9" "restore=9"
              "operator=10" "agent=10" "main=11"
              "simcore=2" "simhistory=2" "simapi=4" "simetcd=4" "simstore=4" "sim=12" "testing=12")
  string(REPLACE "=" ";" pair ${layer})
  list(GET pair 0 name)
  list(GET pair 1 LAYER_${name})
endforeach()

set(etcdop_warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  list(APPEND etcdop_warnings -Werror)
else()
  list(APPEND etcdop_warnings -w)  # g++ 12 must build it; its false positives do not count.
endif()

# etcdop_precompiles(NAME OPTION... HEADERS file...): NAME.pch, for the sources of targets that etcdop_compiles() names it
# for. It is compiled from standard input and in /, so that it has no path in it: clones of the tree share their objects (ccache).
function(etcdop_precompiles name)
  cmake_parse_arguments(arg "" "" "HEADERS" ${ARGN})
  string(JOIN " " flags ${CMAKE_CXX_FLAGS} -std=c++${CMAKE_CXX_STANDARD} ${arg_UNPARSED_ARGUMENTS}
    -fpch-instantiate-templates -Xclang -fno-pch-timestamp)
  list(TRANSFORM arg_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/cmake/)
  list(JOIN arg_HEADERS " " headers)
  set(pch ${PROJECT_BINARY_DIR}/${name}.pch)
  add_custom_command(OUTPUT ${pch}
    COMMAND sh -c "cat ${headers} | ${CMAKE_CXX_COMPILER} ${flags} -MD -MT ${pch} -MF ${pch}.d -x c++-header - -o ${pch}"
    WORKING_DIRECTORY / DEPENDS ${arg_HEADERS} DEPFILE ${pch}.d COMMENT "Precompiling ${name}.pch" VERBATIM)
  add_custom_target(${name} DEPENDS ${pch})
endfunction()
if(ETCDOP_PRECOMPILES)
  etcdop_precompiles(precompiled HEADERS precompiled.h.in)
  etcdop_precompiles(precompiled_for_tests -DGTEST_HAS_PTHREAD=1 HEADERS precompiled.h.in precompiled_for_tests.h.in)
endif()

# etcdop_compiles(TARGET PRECOMPILED): PRECOMPILED is precompiled, or precompiled_for_tests.
function(etcdop_compiles target precompiled)
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
  target_compile_options(${target} PRIVATE ${etcdop_warnings})
  if(ETCDOP_PRECOMPILES)
    # Relative to the build's folder, where ninja runs. An object lists the headers of the .pch as its own.
    target_compile_options(${target} PRIVATE "SHELL:-include-pch ${precompiled}.pch")
    add_dependencies(${target} ${precompiled})
  endif()
endfunction()

# Options of the fakes, which are optimised even if the preset optimises nothing. The .pch of -O0 fits them, too: it holds no code,
# and only the macro __OPTIMIZE__ differs.
set(etcdop_optimised "")
if(CMAKE_CXX_FLAGS MATCHES "-O0")
  set(etcdop_optimised -O1)
  if(ETCDOP_PRECOMPILES)
    list(APPEND etcdop_optimised -Xclang -fno-validate-pch)
  endif()
endif()

# etcdop_left_out(KIND TARGET...): they are built only by name if ETCDOP_LEAVES_OUT has that kind.
function(etcdop_left_out kind)
  if(kind IN_LIST ETCDOP_LEAVES_OUT)
    set_target_properties(${ARGN} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# etcdop_library(NAME SOURCES ... DEPS lower-layers... EXTERNAL ssl... TESTS x_test.cc... TEST_DEPS simcore...)
# Tests may use sim/ and any layer below the one tested.
function(etcdop_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS;EXTERNAL;TESTS;TEST_DEPS" ${ARGN})
  set(compiled ${arg_SOURCES})
  list(FILTER compiled INCLUDE REGEX "\\.cc$")
  if(compiled)
    add_library(${name} STATIC ${arg_SOURCES})
    etcdop_compiles(${name} precompiled)
    set(link PUBLIC)
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
    set(link INTERFACE)
  endif()
  list(TRANSFORM arg_EXTERNAL PREPEND ext::)
  target_link_libraries(${name} ${link} ${arg_DEPS} ${arg_EXTERNAL})
  if(NOT DEFINED LAYER_${name})
    message(FATAL_ERROR "${name} has no layer in cmake/etcdop.cmake")
  endif()
  foreach(dep ${arg_DEPS})
    if(NOT LAYER_${dep} LESS LAYER_${name})
      message(FATAL_ERROR "${name} may not use ${dep}: it is not in a lower layer")
    endif()
  endforeach()
  if(arg_TESTS)
    etcdop_test(${name}_test SOURCES ${arg_TESTS} DEPS ${name} ${arg_TEST_DEPS})
  endif()
endfunction()

# etcdop_test(NAME SOURCES x_test.cc... DEPS ...): a GoogleTest program that ctest runs.
function(etcdop_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  etcdop_compiles(${name} precompiled_for_tests)
  target_link_libraries(${name} PRIVATE ${arg_DEPS} GTest::gtest GTest::gtest_main)
  etcdop_left_out(tests ${name})
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES TIMEOUT 900 LABELS program)
endfunction()

# etcdop_decides(LIBRARY x.cc...): the deciding sources of that library. Where branches are counted, LIBRARY_test counts those of
# these sources, into LIBRARY.profraw beside it.
function(etcdop_decides library)
  if(ETCDOP_COUNTS_BRANCHES)
    # Paths are relative to the build's folder, so that clones share objects. Other programs are not counted.
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS
      -fprofile-instr-generate=/dev/null -fcoverage-mapping -fcoverage-compilation-dir=.)
    target_link_options(${library} PUBLIC -fprofile-instr-generate)
    set_tests_properties(${library}_test PROPERTIES
      ENVIRONMENT LLVM_PROFILE_FILE=${CMAKE_CURRENT_BINARY_DIR}/${library}.profraw)
  endif()
endfunction()

# etcdop_binary(NAME SOURCES ... DEPS ...): a program, at out/PRESET/NAME.
function(etcdop_binary name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  if(GTest::gtest IN_LIST arg_DEPS)
    etcdop_compiles(${name} precompiled_for_tests)
  else()
    etcdop_compiles(${name} precompiled)
  endif()
  target_link_libraries(${name} PRIVATE ${arg_DEPS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endfunction()
