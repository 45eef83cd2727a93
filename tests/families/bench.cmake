# What a decision costs: ./run bench. The test only shows that it runs, and that a call allocates
# nothing and makes no system call; it judges no time.
target_sources(bench PRIVATE bench_calls.c bench_count.c bench_judge.c bench_naive.c bench_print.c
	bench_publish.c bench_routers.c bench_stage.c)
target_link_libraries(bench PRIVATE daemon)
target_compile_definitions(bench PRIVATE BENCH_PLUGINS_DIR="${CMAKE_BINARY_DIR}/plugins.d"
	BENCH_OWN_DIR="${CMAKE_BINARY_DIR}/bench-plugins")

add_library(bench_two MODULE EXCLUDE_FROM_ALL bench_two.c)
target_link_libraries(bench_two PRIVATE callrouter_flags)
set_target_properties(bench_two PROPERTIES PREFIX ""
	LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench-plugins)
add_dependencies(bench bench_two)
# Every router is measured.
foreach(source ${router_sources})
	cmake_path(GET source STEM router)
	add_dependencies(bench ${router})
endforeach()

add_test(NAME bench.runs COMMAND bench --quick)
set_tests_properties(bench.runs PROPERTIES LABELS "scene;heavy" TIMEOUT 120)
