# The SNMP collector, and the agents of the lab.
set(snmp_parts collectors/snmp_cells.c collectors/snmp_walk.c collectors/snmp_report.c
	collectors/snmp_timer.c)
set(snmp_collector collectors/snmp.c collectors/snmp_settings.c collectors/snmp_agent.c
	collectors/snmp_peers.c collectors/snmp_poll.c collectors/snmp_link.c collectors/place.c
	collectors/snmp_endpoint.c collectors/snmp_user.c collectors/snmp_about.c
	collectors/snmp_shared.c collectors/secret.c
	${snmp_parts})
set(snmp_lab tests/lab/fake_snmp.c tests/lab/fake_snmp_tables.c tests/lab/fake_ber.c tests/lab/collector_host.c
	tests/lab/lab_profile.c)
set(snmp_libs source_yaml source resolve PkgConfig::netsnmp m)
unit_test(snmp_parts SOURCES ${snmp_parts} LIBS PkgConfig::netsnmp)
unit_test(snmp_walk SOURCES ${snmp_parts} LIBS PkgConfig::netsnmp)
foreach(name snmp snmp_faults snmp_memory snmp_names snmp_hostile snmp_profiles snmp_v3
		snmp_about)
	unit_test(${name} SOURCES ${snmp_collector} ${snmp_lab} LIBS ${snmp_libs})
	target_compile_definitions(test_${name} PRIVATE
		LAB_PROFILES="${CMAKE_SOURCE_DIR}/collectors/profiles"
		LAB_DATA="${CMAKE_CURRENT_SOURCE_DIR}/data")
endforeach()
failing_memory(snmp_memory)
target_sources(test_snmp_names PRIVATE lab/fake_names.c)
unit_test(snmp_target SOURCES ${snmp_collector} LIBS source resolve PkgConfig::netsnmp m)

add_executable(weblogic_agent lab/weblogic_agent.c)
target_link_libraries(weblogic_agent PRIVATE callrouter_flags)
add_executable(poll_once lab/poll_once.c lab/collector_host.c lab/lab_open.c lab/lab_profile.c)
target_link_libraries(poll_once PRIVATE callrouter_flags source_yaml source core ${CMAKE_DL_LIBS})
target_compile_definitions(poll_once PRIVATE
	LAB_PROFILES="${CMAKE_SOURCE_DIR}/collectors/profiles")
set_target_properties(weblogic_agent poll_once PROPERTIES
	RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lab)

# An AgentX subagent, and simulated agents.
pkg_check_modules(netsnmp_agent REQUIRED IMPORTED_TARGET netsnmp-agent)
add_executable(jvm_subagent lab/jvm_subagent.c)
target_link_libraries(jvm_subagent PRIVATE callrouter_flags PkgConfig::netsnmp_agent)
set_target_properties(jvm_subagent PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lab)

scene_test(snmp)
scene_test(snmp_v3)
scene_test(snmp_agents)
scene_test(snmp_daemon)
scene_test(snmp_about)
