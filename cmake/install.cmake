# What `cmake --install` puts where: the library with its pkg-config file and CMake package, manual
# pages, completion, the service.
include(CMakePackageConfigHelpers)

set(cmake_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/callrouter)
install(TARGETS callrouter callrouter_headers EXPORT callrouter LIBRARY)
install(DIRECTORY include/callrouter DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT callrouter NAMESPACE callrouter:: FILE callrouterConfig.cmake
	DESTINATION ${cmake_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/callrouterConfigVersion.cmake
	COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/callrouterConfigVersion.cmake DESTINATION ${cmake_package_dir})

# The prefix is found from where the file lies, so that an installed tree can be moved.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
	OUTPUT_VARIABLE prefix_from_pc)
configure_file(cmake/callrouter.pc.in callrouter.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/callrouter.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

configure_file(docs/callrouterd.service callrouterd.service @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/callrouterd.service DESTINATION lib/systemd/system)
install(FILES docs/callrouter.sysusers DESTINATION lib/sysusers.d RENAME callrouter.conf)
install(FILES docs/completion/callrouterctl.bash RENAME callrouterctl
	DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)

install(FILES docs/config.md docs/sources.md plugins.d/README.md plugins.d/example.c
	DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/callrouter)
install(DIRECTORY docs/sources DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/callrouter)

# docs/NAME.SECTION.scd -> man/NAME.SECTION
find_program(SCDOC scdoc)
file(GLOB pages CONFIGURE_DEPENDS docs/*.scd)
if(SCDOC AND pages)
	set(manuals)
	foreach(page ${pages})
		cmake_path(GET page STEM LAST_ONLY name)
		string(REGEX MATCH "[0-9]$" section ${name})
		set(manual ${PROJECT_BINARY_DIR}/man/${name})
		# A date of its own in every build would make builds differ.
		add_custom_command(OUTPUT ${manual} DEPENDS ${page} VERBATIM
			COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/man
			COMMAND sh -c "SOURCE_DATE_EPOCH=\${SOURCE_DATE_EPOCH:-0} \"$1\" <\"$2\" >\"$3\"" sh
				${SCDOC} ${page} ${manual})
		list(APPEND manuals ${manual})
		install(FILES ${manual} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
	endforeach()
	add_custom_target(man ALL DEPENDS ${manuals})
endif()
