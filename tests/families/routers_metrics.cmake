# Tests of the metric-driven routers: headroom's ranking and its calls, and the simpler ones.
set(metrics core/plugin.c core/elf.c core/option.c core/text.c core/err.c)
set(metrics_tests headroom headroom_fleet headroom_call headroom_trace
	routers_metrics)
foreach(name ${metrics_tests})
	unit_test(${name} SOURCES ${metrics} LIBS m)
	target_compile_options(test_${name} PRIVATE -ffp-contract=off)
	target_compile_definitions(test_${name} PRIVATE PLUGINS_DIR="${CMAKE_BINARY_DIR}/plugins.d"
		TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}/data"
		SIM_TRACES="${CMAKE_CURRENT_SOURCE_DIR}/sim/traces")
	add_dependencies(test_${name} headroom headroom_lite heap_weighted mod_cluster hot_cold)
endforeach()
