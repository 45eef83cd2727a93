# The replacement of plugins while calls flow.
add_executable(load load.c ${CMAKE_SOURCE_DIR}/core/words.c)
target_include_directories(load PRIVATE ${CMAKE_SOURCE_DIR}/core)
target_link_libraries(load PRIVATE callrouter_flags callrouter)
add_executable(swap_drive swap_drive.c)
target_link_libraries(swap_drive PRIVATE callrouter_flags)

scene_test(swap_ways TIMEOUT 180)
scene_test(swap_bad TIMEOUT 180)
scene_test(swap_collector TIMEOUT 180)
scene_test(swap_many HEAVY TIMEOUT 600)

set(manifest daemon/manifest.c daemon/statefile.c daemon/document.c core/text.c core/err.c)
unit_test(manifest SOURCES ${manifest} LIBS PkgConfig::jansson m)
unit_test(statefile SOURCES daemon/statefile.c daemon/document.c core/err.c LIBS PkgConfig::jansson)
unit_test(stage SOURCES daemon/stage.c core/plugin.c core/elf.c core/option.c core/text.c core/err.c)
add_dependencies(test_stage plugin_good)
target_compile_definitions(test_stage PRIVATE
	TEST_PLUGINS_DIR="${CMAKE_BINARY_DIR}/test-plugins")
