# waybill_module(NAME
#   DEPENDS   modules of ours that the public headers or sources use
#   LIBRARIES outside libraries
#   TEST_DEPENDS, TEST_LIBRARIES  the same, for the tests only)
#
# Makes the library waybill_NAME from every *.cc of the folder (subfolders included, if SUBFOLDERS names
# them) and one test program per suffix: *_test.cc -> waybill_NAME_test. A test's suffix says what it needs:
# _test nothing, _pgtest a PostgreSQL, and so on; programs are made only for suffixes that occur.
function(waybill_module name)
  cmake_parse_arguments(M "" "" "DEPENDS;LIBRARIES;TEST_DEPENDS;TEST_LIBRARIES;SUBFOLDERS;SOURCES" ${ARGN})
  set(globs "*.cc")
  foreach(sub ${M_SUBFOLDERS})
    list(APPEND globs "${sub}/*.cc")
  endforeach()
  file(GLOB all CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" ${globs})
  set(sources ${all})
  list(FILTER sources EXCLUDE REGEX "_(test|pgtest|mysqltest|rocketmqtest|rabbitmqtest|kafkatest|fuzz|bench|main)\\.cc$")
  list(APPEND sources ${M_SOURCES})

  string(REPLACE "/" "_" target "waybill_${name}")
  set(scope PUBLIC)
  if(sources)
    add_library(${target} STATIC ${sources})
    target_link_libraries(${target} PRIVATE waybill_warnings)
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${target} ${scope} "${CMAKE_SOURCE_DIR}/src")
  foreach(dep ${M_DEPENDS})
    string(REPLACE "/" "_" dep "${dep}")
    target_link_libraries(${target} ${scope} waybill_${dep})
  endforeach()
  target_link_libraries(${target} ${scope} ${M_LIBRARIES})

  foreach(suffix test pgtest mysqltest rocketmqtest rabbitmqtest kafkatest)
    set(tests ${all})
    list(FILTER tests INCLUDE REGEX "_${suffix}\\.cc$")
    if(tests)
      waybill_test(${target}_${suffix} SOURCES ${tests} DEPENDS ${M_TEST_DEPENDS}
                   LIBRARIES ${target} ${M_TEST_LIBRARIES} SUFFIX ${suffix})
    endif()
  endforeach()
endfunction()

# waybill_test(TARGET SOURCES ... DEPENDS modules LIBRARIES ... SUFFIX test): one GoogleTest program in build/<preset>/tests/.
function(waybill_test target)
  cmake_parse_arguments(T "" "SUFFIX" "SOURCES;DEPENDS;LIBRARIES" ${ARGN})
  add_executable(${target} ${T_SOURCES})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  target_include_directories(${target} PRIVATE "${CMAKE_SOURCE_DIR}/src" "${CMAKE_SOURCE_DIR}")
  foreach(dep ${T_DEPENDS})
    string(REPLACE "/" "_" dep "${dep}")
    target_link_libraries(${target} PRIVATE waybill_${dep})
  endforeach()
  target_link_libraries(${target} PRIVATE waybill_warnings ${T_LIBRARIES} GTest::gmock GTest::gtest GTest::gtest_main)
  add_test(NAME ${target} COMMAND ${target})
  if(T_SUFFIX)
    set_tests_properties(${target} PROPERTIES LABELS ${T_SUFFIX})
  endif()
endfunction()

# waybill_program(TARGET SOURCES ... DEPENDS modules LIBRARIES ...): a program in build/<preset>/.
function(waybill_program target)
  cmake_parse_arguments(P "" "" "SOURCES;DEPENDS;LIBRARIES" ${ARGN})
  add_executable(${target} ${P_SOURCES})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
  target_include_directories(${target} PRIVATE "${CMAKE_SOURCE_DIR}/src" "${CMAKE_SOURCE_DIR}")
  foreach(dep ${P_DEPENDS})
    string(REPLACE "/" "_" dep "${dep}")
    target_link_libraries(${target} PRIVATE waybill_${dep})
  endforeach()
  target_link_libraries(${target} PRIVATE waybill_warnings ${P_LIBRARIES})
endfunction()
