# The HTTP collector, and the application servers of the lab.
pkg_check_modules(microhttpd REQUIRED IMPORTED_TARGET libmicrohttpd)
add_executable(heapd lab/heapd.c)
target_link_libraries(heapd PRIVATE callrouter_flags PkgConfig::microhttpd Threads::Threads)

set(http_collector collectors/http.c collectors/http_transfer.c collectors/http_settings.c
	collectors/http_profile.c collectors/jolokia.c collectors/tomcat_status.c)
set(http_libs PkgConfig::libcurl PkgConfig::expat PkgConfig::jansson)
set(http_lab tests/lab/fake_http.c tests/lab/collector_host.c core/option.c core/text.c core/err.c
	core/words.c)
unit_test(http SOURCES ${http_collector} ${http_lab} LIBS ${http_libs})
unit_test(http_dead SOURCES ${http_collector} ${http_lab} LIBS ${http_libs})
unit_test(http_profile SOURCES collectors/http_profile.c collectors/jolokia.c
	collectors/tomcat_status.c LIBS PkgConfig::expat PkgConfig::jansson)
if(TARGET test_http_profile)
	target_compile_definitions(test_http_profile PRIVATE
		TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}/data")
endif()

scene_test(http TIMEOUT 180)
