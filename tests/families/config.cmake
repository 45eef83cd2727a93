# Tests of the configuration reader.
set(config_sources ${config_part} core/text.c core/words.c core/option.c core/err.c)
unit_test(secret SOURCES collectors/secret.c)
foreach(name config config_bounds config_health config_memory config_options config_profile
		config_servers config_targets config_vars config_warnings)
	unit_test(${name} SOURCES ${config_sources} LIBS source_yaml source)
	target_compile_definitions(test_${name} PRIVATE
		TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}/data"
		PROFILES="${CMAKE_SOURCE_DIR}/collectors/profiles")
endforeach()
failing_memory(config_memory)
