package group

// ListRequest selects groups; empty filters select all. Both compare without
// regard to case (rule H10).
type ListRequest struct {
	States []string
	Types  []string
}

// Listing is one group of a list.
type Listing struct {
	GroupID      string
	ProtocolType string // "" for a simple group
	State        State
	Kind         Kind
}
