package property

// index finds a definition by resource and name.
var index = map[Resource]map[string]*Definition{}
