# cmake -DOUT=FILE.c "-DTABLES=A.ini;B.ini" -P embed.cmake: the tables as arrays of bytes in C.
set(arrays "")
set(entries "")
set(count 0)
foreach(table ${TABLES})
	get_filename_component(name ${table} NAME_WE)
	string(MAKE_C_IDENTIFIER table_${name} array)
	file(READ ${table} bytes HEX)
	string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
	string(REGEX REPLACE "((0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,))" "\\1\n" bytes "${bytes}")
	string(APPEND arrays "static const unsigned char ${array}[] = {\n${bytes}\n};\n\n")
	string(APPEND entries "\t{ \"${name}\", ${array}, sizeof(${array}) },\n")
	math(EXPR count "${count} + 1")
endforeach()
file(WRITE ${OUT} "/* Made from counters/events/ by embed.cmake. */
#include \"table.h\"

${arrays}const struct nc_builtin nc_builtin_tables[] = {
${entries}};

const size_t nc_builtin_table_count = ${count};
")
