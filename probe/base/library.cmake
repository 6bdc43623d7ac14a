# np_library(NAME SOURCES ... MAP file HEADERS dir REQUIRES ... PRIVATE ... PUBLIC ...)
#
# One installed library: NAME (shared), NAME_objects (static, with the internal symbols too: what
# our own programs and the unit tests link, so that a program starts without loading more files
# than it needs), its version map, headers, pkg-config and CMake package files.
function(np_library name)
	cmake_parse_arguments(arg "" "MAP;HEADERS;DESCRIPTION" "SOURCES;REQUIRES;PRIVATE;PUBLIC" ${ARGN})

	add_library(${name}_objects STATIC ${arg_SOURCES})
	target_include_directories(${name}_objects PUBLIC
		$<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>)
	target_link_libraries(${name}_objects PRIVATE np_build PUBLIC ${arg_PRIVATE})
	foreach(other ${arg_PUBLIC})
		target_link_libraries(${name}_objects PUBLIC ${other}_objects)
	endforeach()

	add_library(${name} SHARED ${arg_SOURCES})
	target_include_directories(${name} PUBLIC
		$<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
		$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
	target_link_libraries(${name} PUBLIC ${arg_PUBLIC} PRIVATE $<BUILD_INTERFACE:np_build> ${arg_PRIVATE})
	target_link_options(${name} PRIVATE LINKER:--version-script=${arg_MAP})
	set_target_properties(${name} PROPERTIES
		VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
		LINK_DEPENDS ${arg_MAP} EXPORT_NAME ${name})
	add_library(numakit::${name} ALIAS ${name})

	install(TARGETS ${name} EXPORT ${name}-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
	install(EXPORT ${name}-targets NAMESPACE numakit::
		DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/${name})
	install(DIRECTORY ${arg_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

	set(NAME ${name})
	set(DESCRIPTION ${arg_DESCRIPTION})
	# Relative, so that "cmake --install --prefix" and a moved tree are found right.
	file(RELATIVE_PATH PREFIX_FROM_PC
		/${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
	list(JOIN arg_REQUIRES " " REQUIRES)
	list(JOIN arg_PUBLIC " " DEPENDENCIES)
	configure_file(${PROJECT_SOURCE_DIR}/probe/base/library.pc.in ${CMAKE_CURRENT_BINARY_DIR}/lib${name}.pc @ONLY)
	install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lib${name}.pc
		DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

	configure_package_config_file(${PROJECT_SOURCE_DIR}/probe/base/config.cmake.in
		${CMAKE_CURRENT_BINARY_DIR}/${name}-config.cmake
		INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/${name})
	write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/${name}-config-version.cmake
		COMPATIBILITY SameMajorVersion)
	install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}-config.cmake
		${CMAKE_CURRENT_BINARY_DIR}/${name}-config-version.cmake
		DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/${name})
endfunction()
