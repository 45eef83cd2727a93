# The simulator: which router is better, in virtual time. ./run sim runs the public scenarios.
file(GLOB sim_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/sim/*.c)
add_executable(routesim ${sim_sources})
target_link_libraries(routesim PRIVATE callrouter_flags core)
# The same bits on every processor: nothing is contracted to a fused multiply-add.
target_compile_options(routesim PRIVATE -ffp-contract=off)
set_target_properties(routesim PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

# Recorded heaps of real JVMs: equal servers that report them keep equal shares.
add_test(NAME sim.traces COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/sim/run.sh --seeds 11-12
	--scenario ${CMAKE_CURRENT_SOURCE_DIR}/sim/scenarios/sawtooth.conf
	--scenario ${CMAKE_CURRENT_SOURCE_DIR}/sim/scenarios/replay_parallel.conf
	--scenario ${CMAKE_CURRENT_SOURCE_DIR}/sim/scenarios/replay_g1.conf)
set_tests_properties(sim.traces PROPERTIES LABELS "scene;heavy" TIMEOUT 300
	ENVIRONMENT CALLROUTER_BUILD=${CMAKE_BINARY_DIR})

# Routers that only the simulator's scenarios compare with.
file(GLOB sim_routers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/sim/routers/*.c)
foreach(source ${sim_routers})
	cmake_path(GET source STEM name)
	add_library(sim_${name} MODULE EXCLUDE_FROM_ALL ${source})
	target_link_libraries(sim_${name} PRIVATE callrouter_flags)
	target_compile_options(sim_${name} PRIVATE -ffp-contract=off)
	set_target_properties(sim_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name}
		LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/sim-routers)
	add_dependencies(routesim sim_${name})
endforeach()
file(GLOB sim_product CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/routers/*.c)
foreach(source ${sim_product})
	cmake_path(GET source STEM name)
	add_dependencies(routesim ${name})
endforeach()

# limits: B0, B1 and B6, as --quick does; keys: each key changes the figures; faults: as it should; bits:
# the same figures from gcc and clang.
add_test(NAME sim.limits COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/sim/run.sh --quick)
add_test(NAME sim.faults COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/sim/faults.sh)
add_test(NAME sim.keys COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/sim/keys.sh)
add_test(NAME sim.bits COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/sim/bits.sh)
set_tests_properties(sim.limits sim.faults sim.keys sim.bits PROPERTIES LABELS "scene;heavy" TIMEOUT 600)

unit_test(sim_portable SOURCES tests/sim/portable.c tests/sim/dice.c LIBS m)
unit_test(sim_queue SOURCES tests/sim/queue.c tests/sim/dice.c tests/sim/portable.c)
unit_test(sim_jvm SOURCES tests/sim/jvm.c LIBS m)
unit_test(sim_server SOURCES tests/sim/server.c tests/sim/jvm.c tests/sim/queue.c tests/sim/dice.c
	tests/sim/portable.c LIBS m)
unit_test(sim_scenario SOURCES tests/sim/scenario.c tests/sim/workload.c tests/sim/dice.c
	tests/sim/portable.c core/text.c core/err.c LIBS m)
foreach(name portable queue jvm server scenario)
	target_include_directories(test_sim_${name} PRIVATE sim)
	target_compile_options(test_sim_${name} PRIVATE -ffp-contract=off)
endforeach()
