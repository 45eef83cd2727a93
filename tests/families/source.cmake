# The source language: selectors, descriptions, what comes out of captures and of hostile answers.
foreach(name source_selectors source_parse source_captures source_truth source_rows source_hostile source_yaml
		source_profiles)
	unit_test(${name} LIBS source_yaml source m)
	target_compile_definitions(test_${name} PRIVATE
		LAB_PROFILES="${CMAKE_SOURCE_DIR}/collectors/profiles"
		TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}/data")
endforeach()

# A JVM that serves its own figures in the forms of many products; a real Prometheus server.
scene_test(jvms TIMEOUT 120)
scene_test(prometheus TIMEOUT 90)
