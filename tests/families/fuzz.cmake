# Fuzz harnesses: tests/fuzz/fuzz_NAME.c, with the libraries whole. Each is a test that gives it its
# corpus, tests/fuzz/corpus/NAME, one input after the other; with -DCALLROUTER_FUZZ=ON (preset fuzz:
# clang) each is a libFuzzer program instead, and the target "fuzzers" makes them all: ./run fuzz.
option(CALLROUTER_FUZZ "make libFuzzer programs of the fuzz harnesses" OFF)
set(fuzz_dir ${CMAKE_CURRENT_SOURCE_DIR}/fuzz)
add_custom_target(fuzzers)

function(fuzz_test name)
	cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
	list(TRANSFORM arg_SOURCES PREPEND ${CMAKE_SOURCE_DIR}/)
	add_executable(fuzz_${name} fuzz/fuzz_${name}.c fuzz/fuzz.c ${arg_SOURCES})
	target_link_libraries(fuzz_${name} PRIVATE callrouter_flags ${arg_LIBS})
	target_include_directories(fuzz_${name} PRIVATE ${CMAKE_SOURCE_DIR}/collectors)
	target_compile_definitions(fuzz_${name} PRIVATE
		FUZZ_PROFILES="${CMAKE_SOURCE_DIR}/collectors/profiles")
	set_target_properties(fuzz_${name} PROPERTIES
		RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzzers)
	add_dependencies(fuzzers fuzz_${name})
	if(CALLROUTER_FUZZ)
		target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
		return()
	endif()
	target_sources(fuzz_${name} PRIVATE fuzz/replay.c)
	add_test(NAME unit.fuzz_${name} COMMAND fuzz_${name} ${fuzz_dir}/corpus/${name})
	set_tests_properties(unit.fuzz_${name} PROPERTIES LABELS unit TIMEOUT 120)
endfunction()

# Answers of servers, each in the format of some profiles, and what may be written to read them.
foreach(name prometheus promql json xml text)
	fuzz_test(${name} SOURCES tests/fuzz/sources.c LIBS source_yaml)
endforeach()
foreach(name selectors description yaml)
	fuzz_test(${name} SOURCES tests/fuzz/sources.c LIBS source_yaml)
endforeach()
# SNMP: messages, and the objects in them.
fuzz_test(snmp SOURCES tests/fuzz/sources.c collectors/snmp_cells.c collectors/snmp_walk.c
	collectors/snmp_report.c LIBS source_yaml PkgConfig::netsnmp)
# Files that other processes write.
fuzz_test(image LIBS core)
fuzz_test(snapshot LIBS core)
fuzz_test(counters LIBS core)
fuzz_test(health LIBS core)
fuzz_test(elf LIBS core)
# Texts of people, and of the daemon's children, clients and servers.
fuzz_test(option LIBS core)
fuzz_test(session LIBS core)
fuzz_test(config LIBS daemon)
fuzz_test(state LIBS daemon)
fuzz_test(control LIBS daemon)
fuzz_test(check LIBS daemon)
