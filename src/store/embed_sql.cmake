# Writes OUTPUT: one constant list of {file name, text} per group of .sql files.
set(out "#include \"store/embedded_sql.h\"\n\nnamespace waybill::store {\nnamespace {\n")
set(exports "")
foreach(group common_sql sqlite_sql sqlite_migrations)
  list(SORT ${group})
  string(APPEND out "const EmbeddedSql ${group}_files[] = {\n")
  foreach(path ${${group}})
    get_filename_component(name "${path}" NAME)
    file(READ "${path}" text)
    string(APPEND out "    {\"${name}\", R\"~sql~(${text})~sql~\"},\n")
  endforeach()
  # An array cannot be empty; the last element is never part of the list.
  string(APPEND out "    {\"\", \"\"}};\n")
  string(APPEND exports
    "std::span<const EmbeddedSql> ${group}() {\n  return std::span(${group}_files).first(std::size(${group}_files) - 1);\n}\n")
endforeach()
file(WRITE "${OUTPUT}" "${out}}  // namespace\n\n${exports}\n}  // namespace waybill::store\n")
