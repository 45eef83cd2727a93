# The HTTP collector, and the application servers of the lab.
pkg_check_modules(microhttpd REQUIRED IMPORTED_TARGET libmicrohttpd)
add_executable(heapd lab/heapd.c)
target_link_libraries(heapd PRIVATE callrouter_flags PkgConfig::microhttpd Threads::Threads)

set(http_collector collectors/http.c collectors/http_poll.c collectors/http_intake.c
	collectors/http_loop.c collectors/http_transfer.c collectors/http_name.c collectors/http_url.c
	collectors/http_settings.c collectors/http_words.c collectors/place.c collectors/secret.c)
set(http_lab tests/lab/fake_http.c tests/lab/collector_host.c tests/lab/lab_profile.c
	tests/lab/lab_open.c)
foreach(name http http_auth http_dead http_files http_hostile http_memory http_names http_requests
		http_target)
	unit_test(${name} SOURCES ${http_collector} ${http_lab}
		LIBS source_yaml source resolve PkgConfig::libcurl)
	target_compile_definitions(test_${name} PRIVATE
		LAB_PROFILES="${CMAKE_SOURCE_DIR}/collectors/profiles")
endforeach()
failing_memory(http_memory)
foreach(name http_dead http_files http_names)
	target_sources(test_${name} PRIVATE lab/fake_names.c)
endforeach()

scene_test(http TIMEOUT 180)
scene_test(names)
