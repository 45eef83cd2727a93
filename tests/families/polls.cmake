# Thousands of targets: responders of our own, the bare loops to compare with, a look from outside.
add_executable(snmp_responder lab/snmp_responder.c lab/responder.c lab/fake_ber.c)
target_link_libraries(snmp_responder PRIVATE callrouter_flags)
add_executable(http_responder lab/http_responder.c lab/responder.c)
target_link_libraries(http_responder PRIVATE callrouter_flags)
add_executable(bare_snmp lab/bare_snmp.c lab/bare.c lab/responder.c)
target_link_libraries(bare_snmp PRIVATE callrouter_flags PkgConfig::netsnmp)
add_executable(bare_http lab/bare_http.c lab/bare.c lab/responder.c)
target_link_libraries(bare_http PRIVATE callrouter_flags PkgConfig::libcurl)
add_executable(poll_probe lab/poll_probe.c)
target_link_libraries(poll_probe PRIVATE callrouter_flags core)
set_target_properties(snmp_responder http_responder bare_snmp bare_http poll_probe PROPERTIES
	RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lab)
add_custom_target(bench_polls DEPENDS snmp_responder http_responder bare_snmp bare_http poll_probe)

scene_test(polls HEAVY)
