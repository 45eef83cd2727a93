# The SNMP collector, and the agents of the lab.
set(snmp_parts collectors/snmp_cells.c collectors/snmp_walk.c collectors/snmp_report.c
	collectors/snmp_timer.c)
set(snmp_collector collectors/snmp.c collectors/snmp_settings.c collectors/snmp_agent.c
	collectors/snmp_poll.c collectors/snmp_link.c collectors/snmp_user.c ${snmp_parts})
unit_test(snmp_parts SOURCES ${snmp_parts} LIBS PkgConfig::netsnmp)
set(snmp_lab tests/lab/fake_snmp.c tests/lab/fake_ber.c tests/lab/collector_host.c core/option.c
	core/text.c core/err.c core/words.c)
unit_test(snmp SOURCES ${snmp_collector} ${snmp_lab} LIBS PkgConfig::netsnmp m)
unit_test(snmp_faults SOURCES ${snmp_collector} ${snmp_lab} LIBS PkgConfig::netsnmp m)

add_executable(weblogic_agent lab/weblogic_agent.c)
target_link_libraries(weblogic_agent PRIVATE callrouter_flags)
add_executable(poll_once lab/poll_once.c lab/collector_host.c ../core/option.c ../core/text.c
	../core/err.c)
target_include_directories(poll_once PRIVATE ${CMAKE_SOURCE_DIR}/core)
target_link_libraries(poll_once PRIVATE callrouter_flags ${CMAKE_DL_LIBS})
set_target_properties(weblogic_agent poll_once PROPERTIES
	RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lab)

scene_test(snmp)
